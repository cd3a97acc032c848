# BACKEND=cpu: common/cpu/launch.awk makes C of a program's source, and the C
# compiler links it with the emulation. The Makefile includes this.

RUNTIME := $(patsubst common/cpu/%.c,$(BUILD)/%.o,$(wildcard common/cpu/*.c))
LINK := $(COMPILE) $(CAS_FIRST) $(LDFLAGS)

$(BUILD)/%.c: $$(call source_of,$$*) common/cpu/launch.awk | known-cc writable
	@mkdir -p $(@D) && rm -f $@
	@text=$$(LC_ALL=C awk -f common/cpu/launch.awk $<) && printf '%s\n' "$$text" > $@

$(PROGRAMS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/%.c $$(call headers_of,$$*) $(RUNTIME) $(COMMON) | backend
	@echo "$(CC) $(call source_of,$*)"
	@$(LINK) -iquote $(dir $(call source_of,$*)) -o $@ $< $(RUNTIME) -lm

$(RUNTIME): $(BUILD)/%.o: common/cpu/%.c $(COMMON) | known-cc writable
	@$(COMPILE) -c -o $@ $<

.PHONY: runtime
runtime: $(RUNTIME)

# How tools/exercise.sh makes "$program" of "$source", the learner's own file.
BUILD_CU = text=$$(awk -f common/cpu/launch.awk "$$source") && \
    printf '%s\n' "$$text" > "$$program.c" && \
    $(LINK) -o "$$program" "$$program.c" $(RUNTIME) -lm

# And of what that made, "$program.race", which looks for races (tools/inside.mk).
BUILD_RACE = $(RACE_MAKE) runtime && $(LINK_RACE)
LINK_RACE = $(CC) $(CPU_FLAGS) $(CAS_FIRST) $(CPPFLAGS) $(RACE_FLAGS) $(LDFLAGS) \
    -o "$$program.race" "$$program.c" $(RUNTIME:$(BUILD)/%=$(BUILD)/race/%) -lm
