/* SPDX-License-Identifier: BSD-3-Clause */
/* What the libraries below net_af_xdp say: kept, and told only where a port does not start. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#include <rte_common.h>

#include "xdp_words.h"

/* As bpf/libbpf.h and xdp/libxdp.h have it: neither is there wherever tripd is built. */
typedef int (*print_t)(int level, const char *format, va_list args);
typedef print_t (*set_print_t)(print_t print);

#define LEVEL_DEBUG 2

static char kept[4096];
static size_t n_kept;

static int
keep(int level, const char *format, va_list args)
{
	int length;

	if (level >= LEVEL_DEBUG)
		return 0;
	length = vsnprintf(kept + n_kept, sizeof(kept) - n_kept, format, args);
	if (length > 0)
		n_kept = RTE_MIN(n_kept + (size_t)length, sizeof(kept) - 1);
	return length;
}

void
tripd_xdp_words_keep(void)
{
	static const char *const libraries[][2] = {
		{"libbpf.so.0", "libbpf_set_print"},
		{"libbpf.so.1", "libbpf_set_print"},
		{"libxdp.so.1", "libxdp_set_print"},
	};

	for (unsigned int i = 0; i < RTE_DIM(libraries); i++) {
		/* Whose own it stays: a driver of EAL's has loaded it. */
		void *library = dlopen(libraries[i][0], RTLD_LAZY | RTLD_NOLOAD);
		set_print_t set_print = NULL;

		if (library == NULL)
			continue;
		*(void **)&set_print = dlsym(library, libraries[i][1]);
		if (set_print != NULL)
			set_print(keep);
		dlclose(library);
	}
}

void
tripd_xdp_words_tell(void)
{
	fwrite(kept, 1, n_kept, stderr);
	n_kept = 0;
}
