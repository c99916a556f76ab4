/* SPDX-License-Identifier: BSD-3-Clause */
/* Precompiled for what is simulated of a port in hardware, as code.h is for processes. */
#include "../../common/trip_atomics.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
