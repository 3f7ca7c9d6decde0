/*
 * Reading small files of the kernel: whole, with one call, into memory of the caller.
 */
#include "system/machine/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "ring/descriptor.h"
#include "ring/file.h"

bool gy_path_join(char ret_path[GY_PATH_BYTES], const char *folder, const char *name)
{
	int length = snprintf(ret_path, GY_PATH_BYTES, "%s%s", folder, name);

	return length >= 0 && length < GY_PATH_BYTES;
}

int gy_kernfile_open(const char *root, const char *path)
{
	char whole[GY_PATH_BYTES];

	if (!gy_path_join(whole, root, path)) {
		return -ENAMETOOLONG;
	}
	return gy_file_open(whole, O_RDONLY | O_CLOEXEC, 0);
}

void gy_kernfile_close(int fd)
{
	if (fd >= 0) {
		(void)gy_descriptor_close(fd);
	}
}

int gy_kernfile_reread(int fd, char *ret_text, size_t bytes)
{
	int64_t r = gy_file_read_at(fd, ret_text, bytes - 1, 0);

	if (r >= 0) {
		ret_text[r] = '\0';
	}
	return (int)r;
}

int gy_kernfile_read(const char *root, const char *path, char *ret_text, size_t bytes)
{
	int fd = gy_kernfile_open(root, path);
	int r = fd < 0 ? fd : gy_kernfile_reread(fd, ret_text, bytes);

	gy_kernfile_close(fd);
	return r;
}

bool gy_text_number(const char **text, uint64_t *ret_number)
{
	const char *at = *text;
	uint64_t number = 0;

	if (*at < '0' || *at > '9') {
		return false;
	}
	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number)) {
			return false;
		}
	}
	*text = at;
	*ret_number = number;
	return true;
}
