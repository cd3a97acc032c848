# What is measured, and where it goes: results/. The Makefile includes this.

.PHONY: bench bench-cpu experiments corrections peers

### bench        measure the lessons on this GPU, write results/, print the table
###              (UNIT=2: of a second one of its model)
bench: $(if $(filter cuda musa,$(BACKEND)),$(LESSONS))
	@BACKEND=$(BACKEND) sh tools/bench.sh $(LESSONS)

### bench-cpu    time the CPU emulation of the lessons
bench-cpu:
	@$(MAKE) --no-print-directory BACKEND=cpu all
	@for lesson in $(LESSONS); do \
	    report=$$(./$$lesson) || exit 1; \
	    lines=$$(printf '%s\n' "$$report" | grep -E '^(lesson|time)') && \
	    printf '%s\n' "$$lines" || exit 1; \
	done

on_cuda = @[ '$(BACKEND)' = cuda ] || { echo "$@: needs an NVIDIA GPU" >&2; exit 2; }

### experiments  measure what the storm of lesson 5 depends on, on this GPU
EXPERIMENTS := $(basename $(notdir $(wildcard tools/experiments*.cu)))
experiments: known-arch
	$(on_cuda)
	@mkdir -p $(BUILD)
	@for name in $(EXPERIMENTS); do \
	    $(COMPILE) -o $(BUILD)/$$name tools/$$name.cu && \
	    $(BUILD)/$$name > $(BUILD)/$$name.csv && \
	    echo "$(BUILD)/$$name.csv is written" || exit; \
	done

### corrections  show what holds in place of claims that no lesson tests
corrections: known-arch
	$(on_cuda)
	@mkdir -p $(BUILD)
	@status=0; for source in tools/$@*.cu tools/cluster_*.cu; do \
	    $(COMPILE) -o $(BUILD)/$@ $$source && $(BUILD)/$@ || status=$$?; \
	done; exit $$status

### cas-atomics  time a GPU's own adds of half beside adds by compare-and-swap
### cas-programs build for that only, to run it elsewhere
CAS_PROGRAMS := build/$(BACKEND)-cas-atomics
.PHONY: cas-atomics cas-programs
cas-atomics: cas-programs
	@sh tools/cas_atomics.sh $(CAS_PROGRAMS)
cas-programs: known-arch
	@[ '$(BACKEND)' != cpu ] || { echo "$@: needs a GPU's backend: BACKEND=cuda or musa" >&2; exit 2; }
	@mkdir -p $(CAS_PROGRAMS)
	$(COMPILE) -o $(CAS_PROGRAMS)/sums tests/musa/cas_atomics.cu $(MUSA_LIBS)
	$(COMPILE) -DCAS_ATOMICS -include common/cas_atomics.h -o $(CAS_PROGRAMS)/sums_cas tests/musa/cas_atomics.cu $(MUSA_LIBS)
	$(COMPILE) -o $(CAS_PROGRAMS)/cas_atomics tools/cas_atomics.cu $(MUSA_LIBS)
	@for way in own cas; do \
	    $(MAKE) --no-print-directory MUSA_ATOMICS=$$(echo $$way | sed s/own//) BUILD=$(CAS_PROGRAMS)/$$way \
	        $(patsubst %,$(CAS_PROGRAMS)/$$way/%,$(wordlist 1,4,$(NAMES))) || exit; \
	done

# What tools/peers/peers.py loads: the lessons' kernels, CUB and their like.
PYTHON ?= python3
PEERS := $(patsubst tools/peers/%.cu,$(BUILD)/peers/%.so, \
           $(wildcard tools/peers/*.cu))

### peers        time our kernels beside PyTorch, cuBLAS and CUB; some of them, at
###              sizes of your own: ONLY=reduce N=1000, ONLY=scatter ROWS=1000
peers: $(call on_gpu,$(PEERS))
	$(on_cuda)
	@$(PYTHON) tools/peers/peers.py $(BUILD)/peers $(if $(ONLY),--only $(call q,$(ONLY))) \
	    $(foreach size,ROWS WIDTH TABLE N,$(if $($(size)),$(call q,$(size)=$($(size)))))

$(PEERS): $(BUILD)/peers/%.so: tools/peers/%.cu $(COMMON) \
    $(wildcard lessons/*/*) | backend known-arch
	@mkdir -p $(@D)
	$(COMPILE) -std=c++17 -shared -Xcompiler -fPIC -o $@ $<
