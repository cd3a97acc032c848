# BACKEND=cuda: nvcc makes a program of its source. The Makefile includes this.

$(PROGRAMS:%=$(BUILD)/%): $(BUILD)/%: $$(call source_of,$$*) $$(call headers_of,$$*) $(COMMON) | backend known-arch writable
	@mkdir -p $(@D)
	$(COMPILE) -o $@ $<

# How tools/exercise.sh makes "$program" of "$source", the learner's own file.
BUILD_CU = $(COMPILE) -o "$$program" "$$source"
