/* SPDX-License-Identifier: BSD-3-Clause */
/* In the software engine. */
#include "live_random.h"

int
main(void)
{
	return live_random();
}
