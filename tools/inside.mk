# Looking inside the lessons. The Makefile includes this.

.PHONY: $(NUMBERS:%=ptx%) $(NUMBERS:%=sass%) $(NUMBERS:%=profile%) \
    $(NUMBERS:%=race%) listings atlas

INSIDE_ARCH := $(or $(filter sm_%,$(ARCH)),sm_90)

## ptxK         show lesson K's atomics in PTX (ARCH=sm_90 or another)
$(NUMBERS:%=ptx%): ptx%: known-arch
	@sh tools/inside.sh ptx $(INSIDE_ARCH) $(call source_of,$(call name_of,$*))

## sassK        show lesson K's atomics in machine code
$(NUMBERS:%=sass%): sass%: known-arch
	@sh tools/inside.sh sass $(INSIDE_ARCH) $(call source_of,$(call name_of,$*))

## profileK     count time and L2 atomic requests (lessons 1 to 3, Nsight Compute)
$(NUMBERS:%=profile%): profile%: $(call on_gpu,lesson%)
	@sh tools/profile.sh ./lesson$* $(call source_of,$(call name_of,$*))

# Built so, a program has ThreadSanitizer look on: see common/cpu/race.c. (At -O0
# gcc leaves out what copies a struct, a half.)
RACE_FLAGS := -O1 -g -fsanitize=thread
RACE_MAKE = MAKEFLAGS= $(MAKE) -s -j2 BACKEND=cpu CC='$(CC)' \
    CFLAGS='$(RACE_FLAGS)' MUSA_ATOMICS=$(MUSA_ATOMICS) BUILD='$(BUILD)/race'

## raceK        look for data races in lesson K, on the CPU
$(NUMBERS:%=race%): race%: | writable
	@RACE_MAKE="$(RACE_MAKE)" sh tools/race.sh $* $(BUILD)/race/$(call name_of,$*)

ptxconformance sassconformance: %conformance: known-arch
	@sh tools/inside.sh $* $(INSIDE_ARCH) $(call source_of,conformance)

ptx% sass% profile% race%:
	@echo "make $@: there is no such lesson; the lessons are 1 to $(words $(NUMBERS))" >&2; exit 2

### listings     write results/ptx/ and results/sass/ anew
listings: known-arch
	@mkdir -p results/ptx results/sass
	@for program in $(LESSONS) conformance; do for kind in ptx sass; do \
	    listing=$$($(MAKE) --no-print-directory -s $$kind$${program#lesson}) || exit 2; \
	    file=results/$$kind/$$program.$(INSIDE_ARCH).txt; \
	    printf '%s\n' "$$listing" | cat > $$file.new && mv -f $$file.new $$file || exit 2; \
	done; done

### atlas        write results/atlas/ anew, of docs/atomics.md; NVCC_OLD=... is nvcc
###              of CUDA 11.8 (results/README.md), CLANG clang-19
atlas:
	@sh tools/atlas.sh --write
