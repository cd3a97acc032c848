# Half-precision atomic adds: build, run, test. Plain `make` prints what there
# is; the lines below that begin with `##` are that list.
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
source_of = $(or $(wildcard lessons/$(1)/$(1).cu),tests/cpu/$(1).cu)
headers_of = $(wildcard lessons/$(1)/*.h)

# --- the exercises: exerciseK is exercises/0K_NAME.cu or .c --------------------

TASK_FILES := $(notdir $(wildcard $(foreach d,exercises solutions, \
                $d/[0-9][0-9]_*.cu $d/[0-9][0-9]_*.c)))
TASKS := $(patsubst 0%,%,$(sort $(foreach f,$(TASK_FILES), \
           $(firstword $(subst _, ,$f)))))

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
    -Icommon/cpu -Icommon -Iinclude
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
.PHONY: help all test bench bench-cpu peers experiments corrections plots \
    listings quote docs serve clean backend known-arch build common exercises include \
    lessons results solutions tests tools $(LESSONS) $(NUMBERS:%=ptx%) $(NUMBERS:%=sass%) \
    $(NUMBERS:%=profile%) $(NUMBERS:%=race%) runtime progress $(TASKS:%=exercise%) $(TASKS:%=watch%) \
    $(TASKS:%=hint%) $(TASKS:%=diff%) $(TASKS:%=solution%) $(TASKS:%=reset%)

help:
	@sed -n 's/^## //p' Makefile
	@echo
	@echo "lessons      $(foreach n,$(NUMBERS),$n $(call name_of,$n) )"
	@echo "here         BACKEND=$(BACKEND) ($(WHY))"

## lessonK      build lesson K and leave it in ./lessonK: make lesson1 && ./lesson1
$(LESSONS): lesson%: $(BUILD)/$$(call name_of,$$*)
	@ln -sf $< $@

## all          build all lessons
all: $(LESSONS)

lesson%:
	@echo "make $@: there is no lesson $*; the lessons are 1 to $(words $(NUMBERS))" >&2; exit 2

# --- building -----------------------------------------------------------------

# The lessons, and the programs of tests/, which are asked for by their path.
PROGRAMS := $(NAMES) $(basename $(notdir $(wildcard tests/cpu/*.cu)))

backend:
	@echo "BACKEND=$(BACKEND) ($(WHY))"

# Names that nvcc takes for ARCH, checked before it is asked to compile.
known-arch:
	@case '$(ARCH)' in native|all|all-major|'') exit 0;; esac; \
	[ -n '$(NVCC)' ] || exit 0; \
	known=$$('$(NVCC)' --list-gpu-code | tr '\n' ' '); \
	case " $$known " in *' $(ARCH) '*) ;; *) \
	    echo "ARCH=$(ARCH): this toolkit knows $$known" >&2; exit 2;; esac

ifeq ($(BACKEND),cuda)
$(PROGRAMS:%=$(BUILD)/%): $(BUILD)/%: $$(call source_of,$$*) $$(call headers_of,$$*) $(COMMON) | backend known-arch
	@mkdir -p $(BUILD)
	$(COMPILE) -o $@ $<
else
$(BUILD)/%.c: $$(call source_of,$$*) common/cpu/launch.awk
	@mkdir -p $(BUILD)
	@awk -f common/cpu/launch.awk $< > $@

RUNTIME := $(patsubst common/cpu/%.c,$(BUILD)/%.o,$(wildcard common/cpu/*.c))

$(PROGRAMS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/%.c $$(call headers_of,$$*) $(RUNTIME) $(COMMON) | backend
	@echo "$(CC) $(call source_of,$*)"
	@$(COMPILE) -I$(dir $(call source_of,$*)) -o $@ $< $(RUNTIME) -lm

$(RUNTIME): $(BUILD)/%.o: common/cpu/%.c $(COMMON)
	@mkdir -p $(BUILD)
	@$(COMPILE) -c -o $@ $<
endif

# Built so, a program has ThreadSanitizer look on: see common/cpu/race.c. (At -O0
# gcc leaves out what copies a struct, a half.)
RACE_FLAGS := -O1 -g -fsanitize=thread
RACE_MAKE = MAKEFLAGS= $(MAKE) -s -j2 BACKEND=cpu CC='$(CC)' \
    CFLAGS='$(RACE_FLAGS)' BUILD='$(BUILD)/race'
runtime: $(RUNTIME)

# --- looking inside -----------------------------------------------------------

INSIDE_ARCH := $(or $(filter sm_%,$(ARCH)),sm_90)

## ptxK         show lesson K's atomics in PTX (ARCH=sm_90 or another)
$(NUMBERS:%=ptx%): ptx%: known-arch
	@sh tools/inside.sh ptx $(INSIDE_ARCH) $(call source_of,$(call name_of,$*))

## sassK        show lesson K's atomics in machine code
$(NUMBERS:%=sass%): sass%: known-arch
	@sh tools/inside.sh sass $(INSIDE_ARCH) $(call source_of,$(call name_of,$*))

# Only a GPU's lessons are measured; for others nothing is built in vain.
on_gpu = $(if $(filter cuda,$(BACKEND)),$(1))

## profileK     count time and L2 atomic requests (lessons 1 to 3, Nsight Compute)
$(NUMBERS:%=profile%): profile%: $(call on_gpu,lesson%)
	@sh tools/profile.sh ./lesson$* $(call source_of,$(call name_of,$*))

## raceK        look for data races in lesson K, on the CPU
$(NUMBERS:%=race%): race%:
	@RACE_MAKE="$(RACE_MAKE)" sh tools/race.sh $* $(BUILD)/race/$(call name_of,$*)

ptx% sass% profile% race%:
	@echo "make $@: there is no such lesson; the lessons are 1 to $(words $(NUMBERS))" >&2; exit 2

# --- the exercises ------------------------------------------------------------

## exerciseK    build your exercises/0K_NAME and check it
## watchK       the same again at every save
## hintK        show one more hint
## diffK        compare yours with the solution
## solutionK    show the solution, and why it is so
## resetK       put exercise K back; yours is kept in build/kept/
## progress     show which exercises are done, and what is next

# How tools/exercise.sh makes "$program" of "$source", the learner's own file.
ifeq ($(BACKEND),cuda)
  BUILD_CU = $(COMPILE) -o "$$program" "$$source"
else
  BUILD_CU = awk -f common/cpu/launch.awk "$$source" > "$$program.c" && \
      $(COMPILE) -o "$$program" "$$program.c" $(RUNTIME) -lm
  BUILD_RACE = $(RACE_MAKE) runtime && $(CC) $(CPU_FLAGS) $(RACE_FLAGS) \
      -o "$$program.race" "$$program.c" $(RUNTIME:$(BUILD)/%=$(BUILD)/race/%) -lm
endif
BUILD_C = $(CC) $(CPU_FLAGS) $(CFLAGS) -o "$$program" "$$source" -lm
export BUILD BUILD_CU BUILD_C BUILD_RACE TASKS

$(TASKS:%=exercise%) $(TASKS:%=watch%): $(RUNTIME) | backend known-arch
progress $(foreach v,exercise watch hint diff solution reset,$(TASKS:%=$v%)):
	@sh tools/exercise.sh $@

exercise% watch% hint% diff% solution% reset%:
	@echo "make $@: there is no exercise $*; the exercises are \
	$(firstword $(TASKS)) to $(lastword $(TASKS))" >&2; exit 2

lesson ptx sass profile race exercise watch hint diff solution reset:
	@echo "make $@: say which one, as in make $@1" >&2; exit 2

# --- figures, pages, tests ----------------------------------------------------

## bench        measure the lessons on this GPU, write results/, print the table
bench: $(call on_gpu,$(LESSONS))
	@BACKEND=$(BACKEND) sh tools/bench.sh $(LESSONS)

## experiments  measure what the storm of lesson 5 depends on, on this GPU
## corrections  show what holds in place of claims that no lesson tests
experiments corrections: known-arch
	@[ '$(BACKEND)' = cuda ] || { echo "$@: needs an NVIDIA GPU" >&2; exit 2; }
	@mkdir -p $(BUILD)
	@$(COMPILE) -o $(BUILD)/$@ tools/$@.cu
	@$(BUILD)/$@

# What tools/peers/peers.py loads: the lessons' kernels, CUB and their like.
PYTHON ?= python3
PEERS := $(patsubst tools/peers/%.cu,$(BUILD)/peers/%.so, \
           $(wildcard tools/peers/*.cu))

## peers        time lessons 6 to 8 beside PyTorch, cuBLAS and CUB (ONLY=reduce)
peers: $(call on_gpu,$(PEERS))
	@[ '$(BACKEND)' = cuda ] || { echo "peers: needs an NVIDIA GPU" >&2; exit 2; }
	@$(PYTHON) tools/peers/peers.py $(BUILD)/peers $(if $(ONLY),--only $(ONLY))

$(PEERS): $(BUILD)/peers/%.so: tools/peers/%.cu $(COMMON) \
    $(wildcard lessons/*/*) | backend known-arch
	@mkdir -p $(@D)
	$(COMPILE) -std=c++17 -shared -Xcompiler -fPIC -o $@ $<

## plots        draw docs/plots/ from results/
plots:
	@sh tools/plots.sh

## bench-cpu    time the CPU emulation of the lessons
bench-cpu:
	@$(MAKE) --no-print-directory BACKEND=cpu all
	@for lesson in $(LESSONS); do \
	    report=$$(./$$lesson) || exit 1; \
	    printf '%s\n' "$$report" | grep -E '^(lesson|time)'; \
	done

## listings     write results/ptx/ and results/sass/ anew
listings: known-arch
	@mkdir -p results/ptx results/sass
	@for k in $(NUMBERS); do for kind in ptx sass; do \
	    listing=$$($(MAKE) --no-print-directory -s $$kind$$k) || exit 2; \
	    printf '%s\n' "$$listing" > results/$$kind/lesson$$k.$(INSIDE_ARCH).txt; \
	done; done

## quote        refill the code, output and figures that the pages quote
quote:
	@sh tools/quote.sh

## docs         render the pages as HTML: open build/site/index.html
docs:
	@EDIT='$(EDIT)' sh tools/site.sh

## serve        the same, at http://localhost:8000/
PORT ?= 8000
serve: docs
	@command -v python3 > /dev/null || \
	    { echo 'python3 is missing: open build/site/index.html' >&2; exit 2; }
	@python3 -c 'import socket; socket.create_server(("127.0.0.1", $(PORT))).close()' 2> /dev/null || \
	    { echo "make serve: port $(PORT) cannot be had; try make serve PORT=8001" >&2; exit 2; }
	@echo "http://localhost:$(PORT)/ (Ctrl-C ends it)"
	@python3 -m http.server --bind 127.0.0.1 --directory build/site $(PORT)

# Two at a time, but on a GPU one after the other, as some look at times. First
# those that say that they take long. FULL=1 does what is left out to save time.
## test         run all tests (BACKEND=cuda: on the GPU)
test:
	@prove $(if $(filter cpu,$(BACKEND)),-j2) $(PROVEFLAGS) \
	    $$(grep -l '^# Takes long' tests/*.t) $$(grep -L '^# Takes long' tests/*.t)

## clean        remove what was built; your exercises and their state stay
clean:
	rm -rf $(filter-out build/kept build/exercises.%,$(wildcard build/*)) \
	    $(LESSONS)
	@[ ! -d build ] || rmdir build 2>/dev/null || true

# A directory is no target, though make would say "up to date".
build common exercises include lessons results solutions tests tools:
	@echo "make $@: that is a directory; plain make lists what can be made" >&2; exit 2
