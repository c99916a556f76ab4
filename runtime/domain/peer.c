/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "domain/peer.h"

/* Headers of libc may be older than the kernel. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int
trip_peer_pidfd(int socket, pid_t pid)
{
	int fd = -1;
	socklen_t length = sizeof(fd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0)
		return fd;
	if (errno == ENOPROTOOPT) {
		fd = (int)syscall(SYS_pidfd_open, pid, 0);
		return fd >= 0 ? fd : -errno;
	}
	/* In the words of several versions, of one that has been waited for. */
	return errno == EINVAL || errno == ENODATA ? -ESRCH : -errno;
}
