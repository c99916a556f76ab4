/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of the language. */
#include "rules.h"

static const struct trip_rules_op_row rows[] = {
	[TRIP_RULES_OP_DROP] = {"drop", TRIP_OP_FLOW_DROP, TRIP_OP_ON_FLOW},
	[TRIP_RULES_OP_PASS] = {"pass", TRIP_OP_FLOW_PASS, TRIP_OP_ON_FLOW},
	[TRIP_RULES_OP_DELETE] = {"delete", TRIP_OP_FLOW_DELETE, TRIP_OP_ON_FLOW},
	[TRIP_RULES_OP_ADD] = {"add", TRIP_OP_CNTR_ADD, TRIP_OP_ON_CNTR},
	[TRIP_RULES_OP_SET] = {"set", TRIP_OP_CNTR_SET, TRIP_OP_ON_CNTR},
	[TRIP_RULES_OP_RESET] = {"reset", TRIP_OP_CNTR_RESET, TRIP_OP_ON_CNTR},
	[TRIP_RULES_OP_EXEC] = {"exec", TRIP_OP_CALL, TRIP_OP_ON_FUNCTION},
	[TRIP_RULES_OP_LOG] = {"log", TRIP_OP_CALL, TRIP_OP_ON_FUNCTION},
};

const struct trip_rules_op_row *
trip_rules_op_of(enum trip_rules_op op)
{
	return &rows[op];
}
