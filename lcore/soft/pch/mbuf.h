/* SPDX-License-Identifier: BSD-3-Clause */
/* Precompiled for libraries of many files, most of which need it and take less time than reading it
 * does. Nobody includes this: -Db_pch=false shows that each file includes what it needs. */
#include <rte_mbuf.h>
