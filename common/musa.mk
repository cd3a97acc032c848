# BACKEND=musa: mcc makes a program of its source. The Makefile includes this; the
# command stands in common/backend.mk.

$(PROGRAMS:%=$(BUILD)/%): $(BUILD)/%: $$(call source_of,$$*) $$(call headers_of,$$*) $(COMMON) | backend writable
	@mkdir -p $(@D)
	$(COMPILE) -o $@ $< $(MUSA_LIBS) || { echo "mcc ended with status $$?: $@ was not built" >&2; exit 2; }

# How tools/exercise.sh makes "$program" of "$source", the learner's own file.
BUILD_CU = $(COMPILE) -o "$$program" "$$source" $(MUSA_LIBS)
