/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation and condition has one row, which says the same to the library, its callers and
 * the language. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <trip_error.h>
#include <trip_work.h>

#include "condition.h"
#include "op.h"
#include "rules.h"

static void
each_operation_is_whole(void **state)
{
	for (unsigned int number = 1; number < TRIP_OPS_END; number++) {
		const struct trip_op_row *op = trip_op_of(number);

		assert_non_null(op->name);
		assert_non_null(op->fire);
		assert_true(op->target >= 1 && op->target < TRIP_OP_TARGETS_END);
		/* WORK-06 is about operations on counters, all of them and no others. */
		assert_int_equal(op->counts, op->target == TRIP_OP_ON_CNTR);
		assert_true(op->operands <= TRIP_OPERANDS_MAX);
		assert_int_equal(op->takes != NULL, op->operands > 0);
		/* They would have to give their operands back. */
		assert_true(op->fire_many == NULL || (op->operands == 0 && op->end == NULL));
		/* What is for a time ends; and that is its value. */
		assert_true(!op->has_time || (op->end != NULL && !op->has_value));
		for (unsigned int other = 1; other < number; other++)
			assert_string_not_equal(op->name, trip_op_of(other)->name);
	}
}

static void
each_condition_is_whole(void **state)
{
	struct trip_condition_info info = {.size = sizeof(info)};

	for (unsigned int kind = 1; kind < TRIP_CONDITIONS_END; kind++) {
		const struct trip_condition_row *row = trip_condition_of(kind);

		assert_non_null(row->name);
		assert_non_null(row->takes);
		assert_non_null(row->tell);
		assert_non_null(row->look);
		assert_true(row->parameters <= TRIP_CONDITION_MEMORY);
		for (unsigned int other = 1; other < kind; other++)
			assert_string_not_equal(row->name, trip_condition_of(other)->name);
		assert_int_equal(trip_condition_describe((enum trip_condition_kind)kind, &info), 0);
		assert_string_equal(info.name, row->name);
		assert_int_equal(info.kind, kind);
		assert_int_equal(info.repeats, row->interval_max > 0);
		assert_int_equal(info.slots, 1 + row->memory);
		assert_true(row->memory <= TRIP_CHANNEL_MEMORY);
		assert_int_equal(info.pairs, row->needs != NULL ? TRIP_CONDITION_PAIRS_MAX : 0);
		/* It fires once: what brings it about is gone then. */
		assert_true(row->needs == NULL || (row->end != NULL && row->interval_max == 0));
	}
	assert_null(trip_condition_of(TRIP_CONDITION_NONE)->name);
	assert_null(trip_condition_of(TRIP_CONDITIONS_END)->name);
	assert_null(trip_condition_of(UINT32_MAX)->name);
}

static void
an_operation_is_described(void **state)
{
	struct trip_op_info info = {.size = sizeof(info)};

	assert_int_equal(trip_op_describe(TRIP_OP_CNTR_SET, &info), 0);
	assert_string_equal(info.name, "set");
	assert_int_equal(info.target, TRIP_OP_ON_CNTR);
	assert_true(info.has_value);
	assert_int_equal(trip_op_describe(TRIP_OP_FLOW_DROP, &info), 0);
	assert_string_equal(info.name, "drop");
	assert_int_equal(info.target, TRIP_OP_ON_FLOW);
	assert_false(info.has_value);
	assert_true(info.has_time);
	info.size--;
	assert_int_equal(trip_op_describe(TRIP_OP_FLOW_DROP, &info), -EINVAL);
}

static void
an_unknown_operation_has_no_name_and_no_target(void **state)
{
	static const unsigned int unknown[] = {0, TRIP_OPS_END, UINT8_MAX, UINT32_MAX};
	struct trip_engine engine = {.n_homes = 1, .cntrs_per_home = 8, .n_flows = 8};
	struct trip_op_info info = {.size = sizeof(info)};

	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct trip_event event = {.result = 0};

		assert_int_equal(trip_op_describe((enum trip_op)unknown[i], &info), -ENOSYS);
		assert_int_equal(trip_op_targets(&engine, trip_op_of(unknown[i])->target), 0);
		assert_int_equal(trip_op_of(unknown[i])->fire(NULL, NULL, &event), TRIP_OP_ENDED);
		assert_int_equal(event.result, -ENOSYS);
	}
}

static void
the_language_calls_operations_as_the_library_does(void **state)
{
	for (enum trip_rules_op op = TRIP_RULES_OP_DROP; op < TRIP_RULES_OPS_END; op++) {
		const struct trip_rules_op_row *row = trip_rules_op_of(op);
		struct trip_op_info info = {.size = sizeof(info)};

		assert_non_null(row->word);
		assert_int_equal(trip_op_describe(row->type, &info), 0);
		assert_int_equal(row->target, info.target);
		/* What these call is the tool's own function; of keys, none. */
		if (row->type != TRIP_OP_CALL)
			assert_string_equal(row->word, info.name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_is_whole),
		cmocka_unit_test(each_condition_is_whole),
		cmocka_unit_test(an_operation_is_described),
		cmocka_unit_test(an_unknown_operation_has_no_name_and_no_target),
		cmocka_unit_test(the_language_calls_operations_as_the_library_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
