/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of a program that knows of no test: what it sends on port 0 of the virtual ConnectX, it
 * receives, and some of that a rule of the device has to drop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "vcx.h"

/* The library's own constructor has run before: it is linked, and so is loaded first. */
__attribute__((constructor)) static void
loop_port_0(void)
{
	int ret = vcx_tx_mode(0, VCX_TX_LOOP);

	if (ret == 0)
		return;
	fprintf(stderr, "vcx: port 0 is not looped: error %d\n", -ret);
	exit(ret == -ENODEV ? 77 : 1);
}

__attribute__((destructor)) static void
some_were_dropped(void)
{
	struct vcx_stats stats;

	if (vcx_stats(0, &stats) != 0 || stats.rx.delivered == 0 || stats.rx.dropped > 0)
		return;
	fprintf(stderr, "vcx: all was delivered: no rule of the device has dropped any\n");
	_exit(1);
}
