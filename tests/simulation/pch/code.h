/* SPDX-License-Identifier: BSD-3-Clause */
/* Precompiled for the library's sources in a simulated process, as lcore/soft/pch/mbuf.h is for the
 * product's; sim_code.h stands before all else there, so it does here. */
#include "../sim_code.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
