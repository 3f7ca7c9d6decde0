#!/usr/bin/env python3
"""Proves that scripts/check_seam.py catches what it is for."""
import planted

OPEN = planted.IDEA + "int make(void)\n{\n\treturn gy_socket_open(1, 2, 0);\n}\n"


class Seam(planted.PlantedTest):
    check = "check_seam.py"
    clean = {
        "lib/base/clock.c": planted.IDEA + "void f(void)\n{\n\tclock_gettime(0, 0);\n}\n",
        "lib/ring/socket.c": planted.IDEA + "int f(void)\n{\n\treturn socket(1, 2, 0);\n}\n",
        "lib/net/sockets.c": OPEN,
        "apps/echo.c": planted.IDEA + "int f(void)\n{\n\treturn getpid();\n}\n",
    }

    def plant_statement(self, statement, path="lib/net/sockets.c"):
        self.plant(path, planted.IDEA + f"void f(struct ops *ops)\n{{\n\t{statement}\n}}\n")

    def test_is_content_with_calls_below_the_seam(self):
        self.assert_content()

    def test_catches_a_call_for_each_part_of_the_machine(self):
        for call, instead in (("socket(1, 2, 0)", "ring/socket.h"), ("close(1)", "ring/descriptor.h"),
                              ("lstat(p, &s)", "ring/file.h"), ("signalfd(1, s, 0)", "ring/signal.h"),
                              ("if_nametoindex(p)", "ring/host.h"), ("nanosleep(&a, &a)", "base/clock.h"),
                              ("getrandom(p, 1, 0)", "base/random.h"), ("sem_post(&s)", "base/wakeup.h"),
                              ("pthread_create(&t, 0, f, 0)", "base/thread.h"),
                              ("getenv(p)", "base/environment.h"), ("fork()", "starts no programs"),
                              ("syscall(1)", "belongs to lib/ring/")):
            with self.subTest(call):
                self.plant_statement(f"(void){call};")
                self.assert_caught(f"lib/net/sockets.c:6: {call.split('(')[0]} goes round the seam", instead)

    def test_catches_a_call_in_a_file_of_base_that_is_not_replaced(self):
        self.plant("lib/base/log/log.c", planted.IDEA + "void f(void)\n{\n\tclock_gettime(0, 0);\n}\n")
        self.assert_caught("lib/base/log/log.c:6: clock_gettime")

    def test_catches_a_call_in_a_header_and_in_a_macro(self):
        self.plant("lib/net/option.h", planted.IDEA + "#define SET(fd) setsockopt(fd, 0, 0, 0, 0)\n")
        self.assert_caught("lib/net/option.h:4: setsockopt")

    def test_catches_the_address_of_a_function(self):
        self.plant_statement("use(getsockname);")
        self.assert_caught("lib/net/sockets.c:6: getsockname")

    def test_lets_members_be_called_as_calls_are(self):
        self.plant_statement("ops->close(ops); ops->open.bind(1); x.getpid = 1;")
        self.assert_content()

    def test_lets_variables_and_types_have_names_that_are_words(self):
        self.plant_statement("struct stat status; int signal = time + read;")
        self.assert_content()

    def test_lets_a_file_have_a_function_of_that_name(self):
        self.plant("lib/net/sockets.c", planted.IDEA + "static void wait(int a)\n{\n}\n\n"
                   "void f(void)\n{\n\twait(1);\n}\n")
        self.assert_content()

    def test_ignores_comments_and_strings(self):
        self.plant_statement('/* close(1) */ say("close(1)");')
        self.assert_content()

    def test_knows_exceptions_by_file_and_name(self):
        self.plant_statement("(void)syscall(1);", "lib/system/machine/numa.c")
        self.assert_content()
        self.plant_statement("(void)syscall(1); (void)getpid();", "lib/system/machine/numa.c")
        self.assert_caught("lib/system/machine/numa.c:6: getpid")

    def test_catches_an_exception_that_nobody_needs(self):
        self.plant_statement("return;", "lib/system/machine/numa.c")
        self.assert_caught("lib/system/machine/numa.c: does not use syscall: take the exception back")


if __name__ == "__main__":
    planted.main()
