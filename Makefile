# Half-precision atomic adds: build, run, test. Plain `make` prints what there
# is: the lines that begin with `##` (a learner's) and `###` (a maintainer's),
# here and in the files that are included below.
#
# What can be set:
#   BACKEND=auto|cuda|cpu   auto: cuda where nvcc and a GPU are, else cpu
#   ARCH=sm_90              the GPU to compile for (default: this machine's)
#   NVCC, NVCCFLAGS         the CUDA compiler       (BACKEND=cuda)
#   CC, CFLAGS              the C compiler          (BACKEND=cpu)
#   EDIT=https://…/%s       where a page is edited  (docs; default: git's remote)
#   PORT=8000               where the site is shown (serve)

BACKEND ?= auto
CFLAGS ?= -O2 -g
NVCCFLAGS ?= -O3 -lineinfo

# --- the lessons: lessonK is the K-th directory of lessons/ -------------------

DIRS := $(sort $(wildcard lessons/v*_*))
NAMES := $(notdir $(DIRS))
NUMBERS := $(wordlist 1,$(words $(DIRS)),1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
LESSONS := $(addprefix lesson,$(NUMBERS))
name_of = $(word $(1),$(NAMES))
source_of = $(or $(wildcard lessons/*/$(1).cu),tests/cpu/$(1).cu)
headers_of = $(wildcard $(dir $(call source_of,$(1)))*.h)

# --- the backend --------------------------------------------------------------

ifndef NVCC
  NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) \
            $(wildcard $(CUDA_HOME)/bin/nvcc /usr/local/cuda/bin/nvcc))
endif
GPU := $(firstword $(wildcard /dev/nvidia0 /proc/driver/nvidia/version \
         /usr/lib/wsl/lib/libcuda.so.1))

ifeq ($(BACKEND),auto)
  ifeq ($(NVCC),)
    WHY := there is no nvcc here
  else ifeq ($(GPU),)
    WHY := there is no NVIDIA GPU here
  else
    WHY := nvcc and an NVIDIA GPU are here
  endif
  override BACKEND := $(if $(and $(NVCC),$(GPU)),cuda,cpu)
else
  WHY := as asked
endif
ifeq ($(filter $(BACKEND),cuda cpu),)
  $(error BACKEND=$(BACKEND): choose auto, cuda or cpu)
endif
ifeq ($(BACKEND)$(NVCC),cuda)
  $(error BACKEND=cuda: nvcc was not found; install the CUDA Toolkit, set NVCC or CUDA_HOME, or use BACKEND=cpu)
endif

CPU_FLAGS := -std=gnu11 -Wall -Wextra -pthread -ffp-contract=off \
    -fno-strict-aliasing -fsanitize=alignment \
    -fsanitize-undefined-trap-on-error -Werror=implicit-function-declaration \
    -Werror=incompatible-pointer-types -Werror=int-conversion \
    -Wno-unknown-pragmas -Icommon/cpu -Icommon -Iinclude
# F16C where this machine has it; on another kind a program runs only by chance.
CPU_FLAGS += $(if $(findstring __F16C__,$(shell $(CC) -march=native -dM -E -x c /dev/null 2>/dev/null)),-mf16c)

ifeq ($(BACKEND),cuda)
  ARCH := $(or $(ARCH),$(if $(GPU),native,all-major))
  COMPILE := $(NVCC) -arch=$(ARCH) $(NVCCFLAGS) -Icommon -Iinclude
else
  COMPILE := $(CC) $(CPU_FLAGS) $(CFLAGS)
endif

# A directory for each backend, compiler and set of flags, so that a change of
# any of them builds anew and nothing stale is ever run.
export BACKEND ARCH NVCC CC CFLAGS
KEY := $(shell printf '%s' '$(subst ','\'',$(COMPILE))' | cksum | cut -d' ' -f1)
BUILD := build/$(BACKEND)-$(KEY)
COMMON := $(wildcard common/*.h common/$(BACKEND)/* include/*.h)

.DELETE_ON_ERROR:
.SECONDEXPANSION:
.DEFAULT_GOAL := help
.PHONY: help all conformance test clean backend known-arch $(LESSONS) build common \
    exercises include lessons results solutions tests tools writable

help:
	@echo 'To learn:'
	@sed -n 's/^## //p' $(MAKEFILE_LIST)
	@echo; echo 'To work on the course:'
	@sed -n 's/^### //p' $(MAKEFILE_LIST)
	@echo; echo "lessons      $(foreach n,$(NUMBERS),$n $(call name_of,$n) )"
	@echo "here         BACKEND=$(BACKEND) ($(WHY))"

## lessonK      build lesson K and leave it in ./lessonK: make lesson1 && ./lesson1
$(LESSONS): lesson%: $(BUILD)/$$(call name_of,$$*)
	@ln -sf $< $@

## all          build all lessons
all: $(LESSONS)

## conformance  build the check of all atomics (lesson 9): ./conformance
conformance: $(BUILD)/conformance
	@ln -sf $< $@

lesson%:
	@echo "make $@: there is no lesson $*; the lessons are 1 to $(words $(NUMBERS))" >&2; exit 2

# --- building -----------------------------------------------------------------

# The lessons, and the programs of tests/, which are asked for by their path.
PROGRAMS := $(NAMES) conformance $(basename $(notdir $(wildcard tests/cpu/*.cu)))

backend:
	@echo "BACKEND=$(BACKEND) ($(WHY))"
writable: # or one line says so, before the first compile
	@{ mkdir -p $(BUILD) && [ -w $(BUILD) ] && [ -w . ]; } 2> /dev/null || { printf '%s\n' \
	    "$$PWD or its build/ cannot be written: copy the course elsewhere" >&2; exit 2; }

# Names that nvcc takes for ARCH, checked before it is asked to compile.
known-arch:
	@case '$(ARCH)' in native|all|all-major|'') exit 0;; esac; \
	[ -n '$(NVCC)' ] || exit 0; \
	known=$$('$(NVCC)' --list-gpu-code | tr '\n' ' '); \
	case " $$known " in *' $(ARCH) '*) ;; *) \
	    echo "ARCH=$(ARCH): this toolkit knows $$known" >&2; exit 2;; esac

include $(wildcard common/$(BACKEND).mk tools/inside.mk tools/exercises.mk \
    tools/pages.mk tools/results.mk)

# --- the rest -----------------------------------------------------------------

lesson ptx sass profile race exercise watch hint diff solution reset:
	@echo "make $@: say which one, as in make $@1" >&2; exit 2

# Two at a time, first those that take long. On a GPU's machine six, and lesson 5,
# which looks at the time, by itself. FULL=1 does what is left out to save time.
ALONE := $(if $(filter cuda,$(BACKEND)),tests/42_storm.t)
### test         run all tests (BACKEND=cuda: on the GPU)
test:
	@prove -j$(if $(ALONE),6,2) $(PROVEFLAGS) $(filter-out $(ALONE), \
	    $(shell grep -l '^# Takes long' tests/*.t | sort -r; grep -L '^# Takes long' tests/*.t))
	@$(if $(ALONE),prove $(PROVEFLAGS) $(ALONE))

## clean        remove what was built; your exercises and their state stay
clean:
	rm -rf $(filter-out build/kept build/exercises.%,$(wildcard build/*)) \
	    $(LESSONS) conformance
	@[ ! -d build ] || rmdir build 2>/dev/null || true

# A directory is no target, though make would say "up to date".
build common exercises include lessons results solutions tests tools:
	@echo "make $@: that is a directory; plain make lists what can be made" >&2; exit 2
