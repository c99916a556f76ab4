/* SPDX-License-Identifier: BSD-3-Clause */
/* Precompiled for libraries of many files, most of which need it and take less time than reading it
 * does. Nobody includes this: without it (-Db_pch=false, scripts/test --long) each file still
 * includes what it needs. */
#include <rte_mbuf.h>
