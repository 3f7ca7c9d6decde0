/*
 * Folders, names that nobody has, streams of the C library, devices, and what OpenSSL reads.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "sim_rig.h"

static void play(gyre_sim_boot_fn boot)
{
	struct gyre_sim *sim = sim_make(1);
	bool done = false;

	(void)sim_add(sim, "alpha", boot, &done);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(60)), 0);
	cr_assert(done);
	gyre_sim_destroy(sim);
}

static int list_folder(void *arg)
{
	char folder[] = "/tmp/folder-XXXXXX";
	char path[64];
	const struct dirent *entry;
	uint32_t count = 0;
	DIR *open_folder;
	int fd;

	cr_assert_eq(mkdtemp(folder), folder);
	(void)snprintf(path, sizeof(path), "%s/file-XXXXXX", folder);
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "abc", 3), 3);
	cr_assert_eq(close(fd), 0);
	open_folder = opendir(folder);
	cr_assert_not_null(open_folder);
	while ((entry = readdir(open_folder)) != NULL) {
		if (entry->d_name[0] != '.') {
			cr_assert_str_eq(entry->d_name, strrchr(path, '/') + 1);
			cr_assert_eq(entry->d_type, DT_REG);
			count++;
		}
	}
	cr_assert_eq(closedir(open_folder), 0);
	cr_assert_eq(count, 1);
	cr_assert_null(opendir("/tmp/nowhere"));
	cr_assert_eq(errno, ENOENT);
	cr_assert_eq(mkstemp(path), -1);
	cr_assert_eq(errno, EINVAL);
	*(bool *)arg = true;
	return 0;
}

Test(sim_folder, has_the_names_of_what_was_made_there)
{
	play(list_folder);
}

static int use_streams(void *arg)
{
	char text[16] = "";
	struct stat status;
	FILE *stream = fopen("/tmp/stream", "we");
	int fd;

	cr_assert_not_null(stream);
	fd = fileno(stream);
	cr_assert_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cr_assert_eq(fputs("one two\n", stream) >= 0, true);
	cr_assert_eq(fclose(stream), 0);
	cr_assert_eq(fcntl(fd, F_GETFD), -1);
	cr_assert_eq(stat("/tmp/stream", &status), 0);
	cr_assert_eq(status.st_size, 8);
	stream = fopen("/tmp/stream", "r+");
	cr_assert_eq(fseek(stream, 4, SEEK_SET), 0);
	cr_assert_eq(fgets(text, sizeof(text), stream), text);
	cr_assert_str_eq(text, "two\n");
	cr_assert_eq(fclose(stream), 0);
	cr_assert_null(fopen("/tmp/nowhere/file", "r"));
	cr_assert_eq(errno, ENOENT);
	stream = tmpfile();
	cr_assert_eq(write(fileno(stream), "abc", 3), 3);
	cr_assert_eq(pread(fileno(stream), text, sizeof(text), 0), 3);
	cr_assert_eq(fclose(stream), 0);
	*(bool *)arg = true;
	return 0;
}

Test(sim_folder, is_where_streams_are)
{
	play(use_streams);
}

static FILE *left; /* a stream that is open when its host ends */

static int leave_a_stream(void *arg)
{
	left = fopen("/stream", "we");
	cr_assert_not_null(left);
	cr_assert_geq(fputs("said", left), 0);
	while (arg != NULL) {
		(void)sleep(1);
	}
	return 0;
}

static int64_t end_with_a_stream(bool crashes)
{
	struct gyre_sim *sim = sim_make(1);
	int64_t bytes;

	(void)sim_add(sim, "alpha", leave_a_stream, crashes ? sim : NULL);
	cr_assert_eq(gyre_sim_run(sim, GYRE_SECONDS(1)), 0);
	if (crashes) {
		cr_assert_eq(gyre_sim_crash(sim, 0), 0);
	}
	bytes = gyre_sim_disk_read(sim, 0, "/stream", NULL, 0);
	gyre_sim_destroy(sim);
	/* It is nobody's now, and touches no descriptor of the program. */
	cr_assert_eq(fputs("more", left) >= 0 && fflush(NULL) == 0 && fclose(left) == 0, true);
	return bytes;
}

Test(sim_folder, gets_what_a_stream_has_when_its_host_ends_but_not_when_it_crashes)
{
	cr_assert_eq(end_with_a_stream(false), 4);
	cr_assert_leq(end_with_a_stream(true), 0);
}

static int use_devices(void *arg)
{
	char bytes[8] = "xxxxxxx";
	struct iovec slice = { .iov_base = bytes, .iov_len = 4 };
	int fd = open("/dev/full", O_RDWR);

	cr_assert_eq(write(fd, "a", 1), -1);
	cr_assert_eq(errno, ENOSPC);
	cr_assert_eq(read(fd, bytes, 4), 4);
	cr_assert_eq(bytes[3], '\0');
	cr_assert_eq(close(fd), 0);
	fd = open("/proc/self/exe", O_RDONLY);
	cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	cr_assert_eq(preadv2(fd, &slice, 1, 0, RWF_NOWAIT), -1);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(pread(fd, bytes, 4, 0), 4);
	cr_assert_eq(memcmp(bytes, "\177ELF", 4), 0);
	*(bool *)arg = true;
	return close(fd);
}

Test(sim_folder, has_a_full_device_and_a_program)
{
	play(use_devices);
}

static int move_socket(void *arg)
{
	const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "/tmp/socket" };
	const struct sockaddr_un folder = { .sun_family = AF_UNIX, .sun_path = "/etc" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct stat status;

	cr_assert_eq(bind(fd, (const struct sockaddr *)&folder, sizeof(folder)), -1);
	cr_assert_eq(errno, EADDRINUSE);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
	cr_assert_eq(rename("/tmp/socket", "/tmp/old"), 0);
	cr_assert_eq(stat("/tmp/socket", &status), -1);
	cr_assert_eq(stat("/tmp/old", &status), 0);
	cr_assert(S_ISSOCK(status.st_mode));
	*(bool *)arg = true;
	return close(fd);
}

Test(sim_folder, has_sockets_that_can_be_renamed)
{
	play(move_socket);
}

static void save(const char *path, X509 *certificate, EVP_PKEY *key)
{
	FILE *file = fopen(path, "w");

	cr_assert_eq(certificate == NULL
			     ? PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL)
			     : PEM_write_X509(file, certificate),
		     1);
	cr_assert_eq(fclose(file), 0);
}

static void make_certificate(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();

	(void)X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
	(void)X509_gmtime_adj(X509_getm_notAfter(certificate), 1000);
	cr_assert_eq(X509_set_pubkey(certificate, key), 1);
	cr_assert(X509_sign(certificate, key, EVP_sha256()) > 0);
	save("/tmp/certificate", certificate, NULL);
	save("/tmp/key", NULL, key);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

static int load_certificate(void *arg)
{
	SSL_CTX *context = SSL_CTX_new(TLS_method());
	STACK_OF(X509_NAME) * names;

	make_certificate();
	cr_assert_eq(SSL_CTX_use_certificate_chain_file(context, "/tmp/certificate"), 1);
	cr_assert_eq(SSL_CTX_use_PrivateKey_file(context, "/tmp/key", SSL_FILETYPE_PEM), 1);
	cr_assert_eq(SSL_CTX_check_private_key(context), 1);
	cr_assert_eq(SSL_CTX_load_verify_file(context, "/tmp/certificate"), 1);
	cr_assert_eq(SSL_CTX_load_verify_file(context, "/tmp/key"), 0);
	names = SSL_load_client_CA_file("/tmp/certificate");
	cr_assert_eq(sk_X509_NAME_num(names), 1);
	sk_X509_NAME_pop_free(names, X509_NAME_free);
	cr_assert_null(SSL_load_client_CA_file("/tmp/nowhere"));
	cr_assert_eq(SSL_CTX_use_certificate_chain_file(context, "/tmp/nowhere"), 0);
	cr_assert_eq(SSL_CTX_use_certificate_chain_file(context, "/tmp/key"), 0);
	SSL_CTX_free(context);
	*(bool *)arg = true;
	return 0;
}

Test(sim_folder, has_certificates_that_openssl_reads)
{
	play(load_certificate);
}
