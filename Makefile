# Half-precision atomic adds: build, run, test. Plain `make` prints what there
# is: the lines that begin with `##` (a learner's) and `###` (a maintainer's),
# here and in the files that are included below.
#
# What can be set:
#   BACKEND=auto|cuda|cpu   auto: cuda where nvcc and a GPU are, else cpu; or musa
#   ARCH=sm_90              the GPU to compile for (default: this machine's)
#   NVCC, NVCCFLAGS         the CUDA compiler       (BACKEND=cuda)
#   CC, CFLAGS              the C compiler          (BACKEND=cpu)
#   MUSA_HOME, MUSA_ARCH    its toolkit and GPU     (BACKEND=musa: docs/musa.md)
#   MUSA_ATOMICS=cas        adds of half by compare-and-swap, on every backend
#   CPPFLAGS, LDFLAGS       for both, as a C compiler takes them
#   EDIT=https://…/%s       where a page is edited  (docs; default: git's remote)
#   PORT=8000               where the site is shown (serve)
#   DIR=submissions         what to grade, or where to copy (grade, class)

ifneq ($(firstword $(sort 3.81 $(MAKE_VERSION))),3.81)
  $(error this is GNU make $(MAKE_VERSION), and the course needs 3.81 or later)
endif

override BACKEND := $(or $(strip $(BACKEND)),auto)
CFLAGS ?= -O2 -g
NVCCFLAGS ?= -O3 -lineinfo

# --- the lessons: lessonK is the K-th directory of lessons/ -------------------

DIRS := $(foreach n,v? v?? v???,$(sort $(wildcard lessons/$n_*)))
NAMES := $(notdir $(DIRS))
NUMBERS := $(wordlist 1,$(words $(DIRS)),1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
LESSONS := $(addprefix lesson,$(NUMBERS))
# Only a link that make made is replaced, or removed by make clean.
ours = case "$$(readlink $(1))" in build/cpu-*|build/cuda-*|build/musa-*) true;; *) false;; esac
link = if $(call ours,$(2)) || { [ ! -e $(2) ] && [ ! -L $(2) ]; }; then rm -f $(2) && ln -s $(1) $(2); else \
    echo "make $(2): ./$(2) is in the way, and make did not make it: give it another name" >&2; exit 2; fi
name_of = $(word $(1),$(NAMES))
source_of = $(or $(wildcard lessons/*/$(1).cu tests/cpu/$(1).cu), \
    $(patsubst own/%,%.cu,$(filter own/%,$(1))),lessons/$(1)/$(1).cu)
headers_of = $(wildcard $(dir $(call source_of,$(1)))*.h lessons/v6_scatter/*.h)

# --- the backend, and what it builds with --------------------------------------

include common/backend.mk

# A directory for each backend, compiler and set of flags, so that a change of
# any of them builds anew and nothing stale is ever run.
export BACKEND ARCH NVCC CC CFLAGS CPPFLAGS LDFLAGS MUSA_ATOMICS
KEY := $(shell printf '%s' $(call q,$(COMPILE)$(LDFLAGS:%= %)) | { cksum || md5sum; } 2>/dev/null | cut -d' ' -f1)
BUILD := build/$(BACKEND)-$(KEY)
COMMON := $(wildcard common/*.h common/$(BACKEND)/* include/*.h)

.DELETE_ON_ERROR:
.SECONDEXPANSION:
.DEFAULT_GOAL := help
FOLDERS := build common examples exercises include lessons results solutions tests tools
OWN := $(basename $(wildcard $(filter %.cu,$(wildcard *.cu))))
ASKED_CU := $(filter %.cu,$(MAKECMDGOALS))
.PHONY: help all conformance test clean backend writable known-arch known-cc $(LESSONS) \
    $(FOLDERS) $(FOLDERS:%=%/) docs/ $(DIRS) $(DIRS:%=%/) $(ASKED_CU) always

help:
	@echo 'To learn:'
	@sed -n 's/^## //p' $(MAKEFILE_LIST)
	@echo; echo 'To work on the course:'
	@sed -n 's/^### //p' $(MAKEFILE_LIST)
	@echo; echo "lessons      $(foreach n,$(NUMBERS),$n $(call name_of,$n) )"
	@echo "here         BACKEND=$(BACKEND) ($(WHY))"

## lessonK      build lesson K and leave it in ./lessonK: make lesson1 && ./lesson1
$(LESSONS): lesson%: $(BUILD)/$$(call name_of,$$*)
	@$(call link,$<,$@)

## all          build all lessons
all: $(LESSONS)

## conformance  build the check of all atomics (lesson 9): ./conformance
conformance: $(BUILD)/conformance
	@$(call link,$<,$@)

## my.cu        build your own my.cu and leave it in ./my: make my.cu && ./my
$(filter $(OWN:%=%.cu),$(ASKED_CU)):
	@$(MAKE) --no-print-directory WHY='$(WHY)' $(BUILD)/own/$(@:.cu=)
	@$(call link,$(BUILD)/own/$(@:.cu=),$(@:.cu=))

# So does make my, unless my is the name of something else: test, docs, …
%: %.cu $(BUILD)/own/% always
	@$(call link,$(BUILD)/own/$*,$@)

$(filter-out $(OWN:%=%.cu),$(ASKED_CU)):
	@echo "make $@: only a program of your own is built by its name, from a file here; else make lesson1, make exercise1" >&2; exit 2

# A leading zero, as in the names of the files: exercise01 is exercise1.
$(foreach v,lesson ptx sass profile race exercise watch hint diff solution reset,$(eval \
    $v0%: $v% ; @$(if $(filter lesson,$v),echo "lesson $$* is in ./lesson$$*",:)))

lesson%:
	@echo "make $@: there is no lesson $*; the lessons are 1 to $(words $(NUMBERS))" >&2; exit 2

# --- building -----------------------------------------------------------------

# The lessons, and the programs of tests/, which are asked for by their path.
PROGRAMS := $(NAMES) conformance $(OWN:%=own/%) $(basename $(notdir $(wildcard tests/cpu/*.cu)))

backend:
	@echo "BACKEND=$(BACKEND) ($(WHY))"
writable: # or one line says so, before the first compile
	@{ mkdir -p $(BUILD) && [ -w $(BUILD) ] && [ -w . ]; } 2> /dev/null || { printf '%s\n' \
	    "$$PWD or its build/ cannot be written: copy the course elsewhere" >&2; exit 2; }

# Only a GPU's lessons are measured; for others nothing is built in vain.
on_gpu = $(if $(filter cuda,$(BACKEND)),$(1))

include $(wildcard common/$(BACKEND).mk tools/inside.mk tools/exercises.mk \
    tools/pages.mk tools/results.mk tools/class.mk)

# --- the rest -----------------------------------------------------------------

lesson ptx sass profile race hint diff solution reset:
	@echo "make $@: say which one, as in make $@1" >&2; exit 2

# Two at a time, first those that take long. On a GPU's machine six,
# and then lesson 5, which looks at the time, and lesson 7, whose faults write anywhere.
# FULL=1 does what is left out to save time.
ALONE := $(if $(filter cuda,$(BACKEND)),tests/42_storm.t tests/44_scatter.t)
### test         run all tests (BACKEND=cuda: on the GPU)
test:
	@[ -d tests ] || { echo "make test: this copy for a class has no tests" >&2; exit 2; }
	@prove -j$(if $(ALONE),6,2) $(PROVEFLAGS) $(filter-out $(ALONE), \
	    $(shell cd tests 2> /dev/null && cd .. && { grep -l '^# Takes long' tests/*.t | sort -r; grep -L '^# Takes long' tests/*.t; }))
	@$(if $(ALONE),prove $(PROVEFLAGS) $(ALONE))

## clean        remove what was built; your exercises and their state stay
clean:
	rm -rf build/cpu-* build/cuda-* build/musa-* build/shared build/site build/site.work build/half-atomics-site.zip
	@for file in *; do ! $(call ours,"$$file") || rm -f "$$file"; done
	@[ ! -d build ] || rmdir build 2>/dev/null || true

# A directory is no target, though make would say "up to date".
docs/: docs
$(FOLDERS) $(FOLDERS:%=%/) $(DIRS) $(DIRS:%=%/):
	@echo "make $@: that is a directory; plain make lists what can be made" >&2; exit 2
# Nor is a source, though lesson%, exercise% and race% would take it (make -B).
$(filter-out /% $(ASKED_CU),$(sort $(MAKEFILE_LIST) $(wildcard common/*.h common/*/* \
    include/*.h lessons/*/*.* tests/cpu/*))): ;
