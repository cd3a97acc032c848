# For a teacher. The Makefile includes this; the copy of make class lacks it.

.PHONY: grade class

## grade        grade a class's folders in DIR: make grade DIR=submissions
ifeq ($(BACKEND),cpu)
LIMITS := $(BUILD)/limits
GRADED := $(sort $(TASK_FILES))
export LINK_RACE LIMITS GRADED
grade:
	@sh tools/grade.sh --look
	@$(MAKE) --no-print-directory -s backend $(RUNTIME) $(LIMITS)
	@$(RACE_MAKE) runtime > /dev/null 2>&1 || :
	@sh tools/grade.sh

$(LIMITS): tools/limits.c | known-cc writable
	@$(CC) -O1 -o $@ $<
else
grade:
	@$(MAKE) --no-print-directory BACKEND=cpu grade
endif

## class        copy the course without solutions, answers and hints, to DIR
class:
	@sh tools/class.sh
