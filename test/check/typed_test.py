#!/usr/bin/env python3
"""Proves what the compiler catches: that each wrong use of a typed message does not compile.

Each test writes a program around one line and compiles it with the C compiler of the build, and with
gcc, clang, g++ and clang++ where they are there. The same program with the right line must compile,
without a warning. C leaves a pointer of the wrong type at a warning, which is made an error here as in
any careful build. gyre's header, which is most of each program, is compiled once for each compiler.
"""
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest

import planted

CC = shlex.split(os.environ.get("GYRE_CC", "cc"))
INCLUDE = os.path.join(planted.SCRIPTS, "..", "include")
C = ["-x", "c", "-std=c11", "-Werror"]
CXX = ["-x", "c++", "-std=c++17", "-Werror"]
CXX20 = ["-x", "c++", "-std=c++20", "-Werror", "-Wno-missing-field-initializers"]
FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-I", INCLUDE]

PROGRAM = planted.IDEA + """#include <gyre/gyre.h>

struct price { int cents; };
GYRE_MESSAGE(price, 0x101);

struct price_of { int item; };
GYRE_REQUEST(price_of, 0x102, price);

struct text { char *chars; };
static inline void text_destroy(struct text *text) { text->chars = 0; }
GYRE_MESSAGE_OWNING(text, 0x103, text_destroy);

@outside@

int handle(struct gyre_stack *stack, struct gyre_address to, struct gyre_future *future);

int handle(struct gyre_stack *stack, struct gyre_address to, struct gyre_future *future)
{
	struct price price;
	struct text text;

	(void)price;
	(void)text;
	(void)to;
	(void)future;
	@inside@
	return gyre_return(stack);
}
"""


class Precompiled:
    """Headers of gyre that were compiled once for many programs, in a folder that is removed at the end."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gyre-typed.")
        self.known = {}

    def flags(self, compiler, header):
        """What has @compiler take a program's #include <gyre/HEADER> from here; nothing if it does not."""
        key = (*compiler, header)
        if key not in self.known:
            self.known[key] = self.make(compiler, header, os.path.join(self.folder.name, str(len(self.known))))
        return self.known[key]

    def make(self, compiler, header, folder):
        os.makedirs(os.path.join(folder, "gyre"))
        made = os.path.join(folder, "gyre", header + ".gch")
        flags = ["-include-pch", made] if any("clang" in word for word in compiler) else ["-I", folder]
        language = compiler[compiler.index("-x") + 1]
        as_header = [language + "-header" if word == language else word for word in compiler]
        # The program that is compiled with it, and nothing else.
        program = os.path.join(folder, "includes")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"#include <gyre/{header}>\nint main(void);\n")
        for command in ([*as_header, *FLAGS, "-o", made, os.path.join(INCLUDE, "gyre", header)],
                        [*compiler, *flags, *FLAGS, "-Winvalid-pch", "-fsyntax-only", program]):
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                return []
        return flags


precompiled = Precompiled()


class Compiled(planted.PlantedTest):
    everywhere = False  # with one compiler for each language, or with all that are there

    def compilers(self):
        own = "clang" if any("clang" in word for word in CC) else "gcc"
        others = [[name] for name in ("gcc", "clang") if name != own and shutil.which(name)]
        languages = [[*CC, *C]] + ([["g++", *CXX]] if shutil.which("g++") else [])
        if self.everywhere:
            languages += [[*other, *C] for other in others]
            languages += [["clang++", *CXX]] if shutil.which("clang++") else []
        return languages

    def outcomes(self, outside, inside):
        """Pairs of the language and what its compiler says: nothing when it is content."""
        path = self.plant("typed.c", PROGRAM.replace("@outside@", outside).replace("@inside@", inside))
        for compiler in self.compilers():
            header = precompiled.flags(compiler, "gyre.h")
            status, output = self.run_command([*compiler, *header, *FLAGS, "-fsyntax-only", path])
            self.assertTrue(status == 0 or "error:" in output, output)
            yield compiler[0], output if status != 0 else ""

    def passes(self, inside="", outside=""):
        for language, said in self.outcomes(outside, inside):
            self.assertEqual(said, "", language)

    def fails(self, inside="", outside="", because=""):
        for language, said in self.outcomes(outside, inside):
            self.assertNotEqual(said, "", f"{language} takes it")
            self.assertIn(because, said, language)


class Typed(Compiled):
    def test_the_program_itself_is_right(self):
        self.passes()

    def test_a_payload_is_not_sent_for_a_mail(self):
        self.passes("gyre_notify(stack, to, gyre_new(stack, price, 1));")
        self.fails("gyre_notify(stack, to, &price);")

    def test_a_message_has_only_the_fields_of_its_struct(self):
        self.fails("gyre_notify(stack, to, gyre_new(stack, price, .item = 1));")
        self.fails("gyre_notify(stack, to, gyre_new(stack, price, 1, 2));")

    def test_a_struct_that_was_not_declared_is_no_message(self):
        self.fails("gyre_notify(stack, to, gyre_new(stack, other, 1));",
                   outside="struct other { int x; };")

    def test_a_message_is_read_as_what_it_was_asked_for(self):
        self.passes("const struct price *p = gyre_message(stack, price); (void)p;")
        self.fails("const struct price *p = gyre_message(stack, price_of); (void)p;")
        self.fails("struct price *p = gyre_message(stack, price); (void)p;")

    def test_an_answer_is_built_of_the_declared_type(self):
        self.passes("return gyre_reply_to(stack, price_of, 1);")
        self.fails("return gyre_reply_to(stack, price_of, .item = 1);")
        self.fails("return gyre_reply_to(stack, price_of, text);")
        self.fails("return gyre_batch_reply_to(stack, 0, price_of, text);")

    def test_an_answer_is_copied_from_the_declared_type(self):
        self.passes("return gyre_reply_copy_to(stack, price_of, &price);")
        self.passes("const struct price *p = &price; return gyre_reply_copy_to(stack, price_of, p);")
        self.fails("return gyre_reply_copy_to(stack, price_of, &text);")
        self.fails("return gyre_reply_copy_to(stack, price_of, price);")
        self.fails("return gyre_batch_reply(stack, 0, gyre_new_answer_copy(stack, price_of, &text));")
        self.fails("return gyre_reply_copy_to(stack, price, &price);")

    def test_an_answer_to_a_whole_batch_is_built_of_the_declared_type(self):
        self.passes("return gyre_batch_reply_all_to(stack, price_of, 1);")
        self.fails("return gyre_batch_reply_all_to(stack, price_of, .item = 1);")
        self.fails("return gyre_batch_reply_all_to(stack, price_of, text);")
        self.fails("return gyre_batch_reply_all_to(stack, price, 1);")

    def test_an_answer_from_off_the_loops_is_built_of_the_declared_type(self):
        work = "struct gyre_work *work = 0; return %s;"
        self.passes(work % "gyre_work_reply_to(work, price_of, 1)")
        self.passes(work % "gyre_work_reply_copy_to(work, price_of, &price)")
        self.fails(work % "gyre_work_reply_to(work, price_of, .item = 1)")
        self.fails(work % "gyre_work_reply_to(work, price_of, text)")
        self.fails(work % "gyre_work_reply_to(work, price, 1)")
        self.fails(work % "gyre_work_reply_copy_to(work, price_of, &text)")

    def test_an_answer_outside_is_read_as_the_declared_type(self):
        mail = "struct gyre_mail *mail = 0; %s"
        self.passes(mail % "const struct price *p = gyre_mail_answer_to(mail, price_of); (void)p;")
        self.fails(mail % "const struct text *p = gyre_mail_answer_to(mail, price_of); (void)p;")
        self.fails(mail % "struct price *p = gyre_mail_answer_to(mail, price_of); (void)p;")
        self.fails(mail % "(void)gyre_mail_answer_to(mail, price);")
        self.fails(mail % "return gyre_mail_answer_to(mail, price_of)->item;")

    def test_an_answer_is_moved_to_the_declared_type(self):
        self.passes("return gyre_future_move_answer_to(future, price_of, &price);")
        self.fails("return gyre_future_move_answer_to(future, price_of, &text);")
        self.fails("return gyre_future_move_answer_to(future, price, &price);")
        self.passes("return gyre_mail_move_answer_to((struct gyre_mail *)0, price_of, &price);")
        self.fails("return gyre_mail_move_answer_to((struct gyre_mail *)0, price_of, &text);")

    def test_an_answer_is_read_as_the_declared_type(self):
        self.passes("const struct price *p = gyre_future_answer_to(future, price_of); (void)p;")
        self.fails("const struct price_of *p = gyre_future_answer_to(future, price_of); (void)p;")
        self.fails("return gyre_future_answer_to(future, price_of)->item;")

    def test_what_declares_no_answer_has_none(self):
        self.fails("return gyre_reply_to(stack, price, 1);")
        self.fails("(void)gyre_future_answer_to(future, price);")

    def test_who_names_the_answer_in_place_of_the_request_is_told_so_first(self):
        system = "(void)gyre_system_new_answer"
        for call in ("return gyre_reply_to(stack, price, .cents = 1)", "return gyre_reply_copy_to(stack, price, &price)",
                     "return gyre_batch_reply_to(stack, 0, price, 1)", "return gyre_batch_reply_all_to(stack, price, 1)",
                     "return gyre_work_reply_to((struct gyre_work *)0, price, 1)",
                     f"{system}(gyre_system_of(stack), price, 1)", f"{system}_copy(gyre_system_of(stack), price, &price)",
                     "(void)gyre_future_answer_to(future, price)", "return gyre_future_move_answer_to(future, price, &price)",
                     "(void)gyre_mail_answer_to((struct gyre_mail *)0, price)",
                     "return gyre_mail_move_answer_to((struct gyre_mail *)0, price, &price)"):
            for language, said in self.outcomes("", call + ";"):
                first = next(line for line in said.splitlines() if "error:" in line)
                self.assertIn("price declares no answer: what is named here is the request", first, (language, call))

    def test_a_question_declares_an_answer_that_is_a_message(self):
        self.fails(outside="struct a { int x; };\nstruct b { int x; };\nGYRE_REQUEST(a, 0x104, b);")

    def test_a_payload_is_moved_to_its_own_type(self):
        self.passes("gyre_move(stack, text, &text);")
        self.fails("gyre_move(stack, text, &price);")
        self.fails("gyre_future_move(future, text, &price);")
        self.fails("gyre_batch_move(stack, 0, text, &price);")
        self.passes("gyre_mail_move((struct gyre_mail *)0, text, &text);")
        self.fails("gyre_mail_move((struct gyre_mail *)0, text, &price);")
        self.fails("gyre_work_move((struct gyre_work *)0, text, &price);")

    def test_a_destructor_takes_its_own_type(self):
        message = "struct other { int x; };\nGYRE_MESSAGE_OWNING(other, 0x104, %s);"
        self.fails(outside=message % "text_destroy")
        self.fails(outside=message % "missing_destroy")

    def test_a_function_that_copies_takes_its_own_type(self):
        message = ("struct other { int x; };\nvoid end(struct other *o);\nint copy(struct other *o);\nint copy_text(struct text *t);\n"
                   "int copy_two(struct other *to, const struct other *from);\n%s(other, 0x104, end, %s);")
        self.passes(outside=message % ("GYRE_MESSAGE_OWNING", "copy"))
        self.fails(outside=message % ("GYRE_MESSAGE_OWNING", "copy_text"))
        self.fails(outside=message % ("GYRE_MESSAGE_OWNING", "copy_two"))
        self.fails(outside=message % ("GYRE_MESSAGE_OWNING", "end"))
        for other in ("bool copy(struct other *o)", "int copy(void *o)"):
            self.fails(outside="#include <stdbool.h>\n" + (message % ("GYRE_MESSAGE_OWNING", "copy")).replace("int copy(struct other *o)", other),
                       because="the function that copies other is not an int (struct other *)")
        request = message.replace("0x104", "0x104, text")
        self.passes(outside=request % ("GYRE_REQUEST_OWNING", "copy"))
        self.fails(outside=request % ("GYRE_REQUEST_OWNING", "copy_text"))

    def test_a_handler_of_the_library_takes_its_own_options(self):
        add = ("struct gyre_channel *channel = 0;\nstruct gyre_line_options line = { 0, GYRE_APPEND_LF, 0, 0, GYRE_UNTERMINATED_DROP };\n"
               "struct gyre_varint_options varint = { 0, 0 };\n(void)line; (void)varint;\n%s;")
        self.passes(add % "gyre_line_codec_add(channel, GYRE_LAST, &line)")
        self.passes(add % 'gyre_varint_codec_add(channel, GYRE_AFTER("tls"), &varint)')
        self.fails(add % "gyre_line_codec_add(channel, GYRE_LAST, &varint)")
        self.fails(add % "gyre_idle_add(channel, GYRE_FIRST, &line)")
        self.fails(add % 'gyre_line_codec_add(channel, "tls", &line)')

    def test_a_message_is_not_larger_than_the_largest(self):
        message = "struct big { char bytes[%d]; };\nGYRE_MESSAGE(big, 0x104);"
        self.passes(outside=message % (1 << 24))
        self.fails(outside=message % ((1 << 24) + 1), because="big is too large for mail")

    def test_a_message_needs_no_more_alignment_than_mail_has(self):
        message = "struct wide { int x __attribute__((aligned(%d))); };\nGYRE_MESSAGE(wide, 0x104);"
        self.passes(outside=message % 8)
        self.fails(outside=message % 16, because="wide is aligned to more than mail is")

    def test_an_id_below_0x100_is_gyres_own(self):
        message = "struct other { int x; };\n%s;"
        self.passes(outside=message % "GYRE_MESSAGE(other, 0x104)")
        for declaration in ("GYRE_MESSAGE(other, 0xff)", "GYRE_MESSAGE(other, 0)",
                            "GYRE_REQUEST(other, 0x01, price)"):
            self.fails(outside=message % declaration, because="the type id of other is below 0x100")

    def test_an_id_below_0x100_is_gyres_own_for_a_message_that_owns_or_is_encoded_too(self):
        message = ("struct other { char *x; };\n"
                   "static inline void end(struct other *other) { other->x = 0; }\n"
                   "static const struct gyre_encoding form = { 1, 0, 0 };\n%s;")
        for declaration in ("GYRE_MESSAGE_OWNING(other, 0xff, end)",
                            "GYRE_REQUEST_OWNING(other, 0xff, price, end)",
                            "GYRE_MESSAGE_ENCODED(other, 0xff, form, end)",
                            "GYRE_MESSAGE_VERSIONED(other, 0xff, form)"):
            self.fails(outside=message % declaration, because="the type id of other is below 0x100")

    def test_a_message_without_members_has_no_bytes(self):
        outside = ("#ifndef __cplusplus\n#pragma GCC diagnostic ignored \"-Wpedantic\"\n#endif\n"
                   "struct bell { };\nGYRE_MESSAGE(bell, 0x104);\n"
                   "struct tuned { int note; };\nGYRE_MESSAGE(tuned, 0x105);\n"
                   "GYRE_ASSERT_(GYRE_BYTES_(bell) == 0, \"bell has bytes\");\n"
                   "GYRE_ASSERT_(GYRE_BYTES_(tuned) == sizeof(int), \"tuned has others\");")
        self.passes("gyre_notify(stack, to, gyre_new(stack, bell));", outside=outside)
        self.fails("gyre_notify(stack, to, gyre_new(stack, bell, 1));", outside=outside)

    def test_in_cxx_a_message_can_be_moved_as_bytes(self):
        outside = ("#ifdef __cplusplus\nstruct own { int x; ~own() {} };\n#else\n"
                   "#error \"own cannot be moved as bytes\"\nstruct own { int x; };\n#endif\n"
                   "GYRE_MESSAGE(own, 0x104);")
        self.fails(outside=outside, because="own cannot be moved as bytes")

    TAIL = "__extension__ struct line { uint32_t bytes; char text[]; };\nGYRE_MESSAGE_TAIL(line, 0x104, text, bytes);"

    def test_a_message_with_a_tail_is_made_with_the_number_of_its_elements(self):
        self.passes("gyre_notify(stack, to, gyre_new_tail(stack, line, 3, 0));", outside=self.TAIL)
        self.fails("gyre_notify(stack, to, gyre_new(stack, line, 3));", outside=self.TAIL,
                   because="gyre_new_tail_is_for_messages_with_tails")
        self.fails("gyre_notify(stack, to, gyre_new_tail(stack, price, 3, 0));")

    def test_a_tail_is_filled_with_elements_of_its_own_type(self):
        self.passes("gyre_notify(stack, to, gyre_tail_fill(line, gyre_new_tail(stack, line, 3, 0), \"abc\"));",
                    outside=self.TAIL)
        self.fails("gyre_notify(stack, to, gyre_tail_fill(line, gyre_new_tail(stack, line, 3, 0), &price));",
                   outside=self.TAIL)

    def test_a_tail_is_an_array_without_a_length_at_the_end(self):
        message = "__extension__ struct line { uint32_t bytes; %s };\nGYRE_MESSAGE_TAIL(line, 0x104, text, bytes);"
        self.passes(outside=message % "short text[];")
        for members in ("char text[8];", "int text[1];", "char text[8]; int more;"):
            self.fails(outside=message % members,
                       because="text of line is not an array without a length at its end")

    def test_the_count_of_a_tail_has_32_bits(self):
        message = "__extension__ struct line { %s bytes; char text[]; };\nGYRE_MESSAGE_TAIL(line, 0x104, text, bytes);"
        self.passes(outside=message % "uint32_t")
        for kind in ("size_t", "uint8_t", "char"):
            self.fails(outside=message % kind, because="bytes of line is not a uint32_t")

    def test_a_question_with_a_tail_names_its_answer_where_others_do(self):
        request = "__extension__ struct line { uint32_t bytes; char text[]; };\nGYRE_REQUEST_TAIL(line, 0x104, %s);"
        self.passes("return gyre_reply_to(stack, line, 1);", outside=request % "price, text, bytes")
        self.fails(outside=request % "text, bytes, price")

    def test_the_answer_to_a_question_may_have_a_tail(self):
        outside = self.TAIL + "\nstruct read_line { int number; };\nGYRE_REQUEST(read_line, 0x105, line);"
        self.passes("return gyre_reply_to(stack, read_line, 0);", outside=outside)
        self.passes("const struct line *p = gyre_future_answer_to(future, read_line); (void)p;", outside=outside)
        copy = "const struct line *p = gyre_future_answer_to(future, read_line);\nreturn gyre_reply_copy_to(stack, %s, p);"
        self.passes(copy % "read_line", outside=outside)
        self.fails(copy % "price_of", outside=outside)


class Protocols(Compiled):
    everywhere = True

    SHOP = ("struct restock { int item; int count; };\nGYRE_MESSAGE(restock, 0x110);\n"
            "struct close_up { int hour; };\nGYRE_MESSAGE(close_up, 0x111);\n"
            "struct stock { int count; };\nGYRE_MESSAGE(stock, 0x112);\n"
            "struct stock_of { int item; };\nGYRE_REQUEST(stock_of, 0x113, stock);\n"
            "GYRE_PROTOCOL(shop, restock, price_of);\n"
            "int on_any(struct gyre_stack *stack);\n"
            "int on_any(struct gyre_stack *stack) { return gyre_return(stack); }\n")
    BAR = SHOP + "GYRE_PROTOCOL(bar, close_up);\n"

    def passes_to_shop(self, inside):
        self.passes("const struct shop_address shop = gyre_address_as(shop, to);\n(void)shop;\n" + inside, self.SHOP)

    def fails_to_shop(self, inside, because):
        self.fails("const struct shop_address shop = gyre_address_as(shop, to);\n(void)shop;\n" + inside, self.SHOP,
                   because)

    def test_an_actor_gets_the_messages_of_its_protocol_alone(self):
        self.passes_to_shop("return gyre_tell(stack, shop, restock, 7, 1);")
        self.passes_to_shop("return gyre_tell_mail(stack, shop, restock, gyre_take(stack));")
        self.passes_to_shop("return gyre_system_tell(gyre_system_of(stack), shop, restock, 7, 1);")
        for call in ("gyre_tell(stack, shop, close_up, 1)", "gyre_tell_mail(stack, shop, close_up, gyre_take(stack))",
                     "gyre_system_tell(gyre_system_of(stack), shop, close_up, 1)"):
            self.fails_to_shop(f"return {call};", "takes_close_up")
            self.fails_to_shop(f"return {call};", "shop_address")
        self.fails_to_shop("return gyre_tell(stack, shop, restock, .hour = 1);", "hour")
        self.fails_to_shop("return gyre_ask_of(stack, shop, 0, future, stock_of, 7);", "takes_stock_of")

    def test_a_request_is_not_sent_as_a_notice(self):
        for call in ("gyre_tell(stack, shop, price_of, 7)", "gyre_tell_mail(stack, shop, price_of, gyre_take(stack))",
                     "gyre_system_tell(gyre_system_of(stack), shop, price_of, 7)"):
            self.fails_to_shop(f"return {call};", "gyre_is_notice_price_of")

    def test_what_has_no_answer_is_not_asked(self):
        system = "struct gyre_mail *answer = 0; (void)answer; return %s;"
        outside = "gyre_system_ask_of(gyre_system_of(stack), shop, 0, &answer, %s)"
        self.passes_to_shop("return gyre_ask_of(stack, shop, 0, future, price_of, 7);")
        self.passes_to_shop("return gyre_ask_mail(stack, shop, 0, future, price_of, gyre_new(stack, price_of, 7));")
        self.passes_to_shop(system % (outside % "price_of, 7"))
        for call in ("gyre_ask_of(stack, shop, 0, future, restock, 7, 1)",
                     "gyre_ask_mail(stack, shop, 0, future, restock, gyre_new(stack, restock, 7, 1))",
                     outside % "restock, 7, 1"):
            self.fails_to_shop(system % call, "gyre_is_request_restock")

    def test_the_answer_of_a_protocol_is_that_of_its_request(self):
        ask = "(void)gyre_ask_of(stack, shop, 0, future, price_of, 7);\n%s"
        self.passes_to_shop(ask % "return gyre_future_answer_to(future, price_of)->cents;")
        self.fails_to_shop(ask % "return gyre_future_answer_to(future, price_of)->count;", "count")
        self.fails_to_shop(ask % "return gyre_future_answer_to(future, restock)->count;", "restock")
        self.fails_to_shop("return gyre_reply_to(stack, stock_of, .cents = 1);", "cents")

    def test_a_typed_address_is_not_one_of_another_protocol(self):
        self.passes("struct shop_address a = gyre_address_as(shop, to), b = a; (void)b;", self.BAR)
        self.fails("struct shop_address a = gyre_address_as(bar, to); (void)a;", self.BAR)
        self.fails("struct shop_address a = to; (void)a;", self.BAR)
        self.fails("return gyre_notify(stack, gyre_address_as(shop, to), gyre_new(stack, price, 1));", self.BAR)
        self.passes("return gyre_notify(stack, gyre_address_as(shop, to).address, gyre_new(stack, price, 1));", self.BAR)

    def test_a_typed_address_is_as_large_as_an_address(self):
        self.passes(outside=self.SHOP + "GYRE_ASSERT_(sizeof(struct shop_address) == sizeof(struct gyre_address), \"\");\n"
                    "struct visit { struct shop_address shop; };\nGYRE_MESSAGE(visit, 0x120);")

    def test_a_protocol_has_messages_that_were_declared(self):
        self.fails(outside=self.SHOP + "struct other { int x; };\nGYRE_PROTOCOL(bar, close_up, other);", because="other")
        self.fails(outside=self.SHOP + "GYRE_PROTOCOL(bar, close_up, close_up);", because="gyre_bar_takes_close_up")

    def test_the_routes_of_a_protocol_are_complete(self):
        routes = self.SHOP + "GYRE_SERVES(counter, shop, %s);"
        notice, ask = "GYRE_ON_NOTICE(restock, on_any)", "GYRE_ON_ASK(price_of, on_any)"
        self.passes(outside=routes % f"{notice}, {ask}")
        self.passes(outside=routes % f"{ask}, {notice}")
        for missing, there in (("price_of", notice), ("restock", ask)):
            self.fails(outside=routes % there, because=f"gyre_shop_takes_{missing}")
            self.fails(outside=routes % there, because="the routes of counter are not those of all messages of shop")
        self.fails(outside=routes % f"{notice}, {ask}, GYRE_ON_NOTICE(close_up, on_any)",
                   because="gyre_shop_takes_close_up")
        self.fails(outside=routes % f"{notice}, {notice}, {ask}", because="duplicate case")
        self.fails(outside=routes % "GYRE_ON_NOTICE(price_of, on_any), " + notice, because="gyre_is_notice_price_of")
        self.fails(outside=routes % "GYRE_ON_ASK(restock, on_any), " + ask, because="gyre_is_request_restock")
        self.fails(outside=routes % f"{notice}, GYRE_ON_ASK(price_of, on_price)", because="on_price")

    def test_a_missing_route_does_not_compile_without_any_warnings(self):
        path = self.plant("typed.c", PROGRAM.replace("@inside@", "").replace(
            "@outside@", self.SHOP + "GYRE_SERVES(counter, shop, GYRE_ON_NOTICE(restock, on_any));"))
        for compiler in self.compilers():
            status, output = self.run_command([*compiler, "-w", "-I", INCLUDE, "-fsyntax-only", path])
            self.assertNotEqual(status, 0, compiler[0])
            self.assertIn("the routes of counter are not those of all messages of shop", output)

    def test_a_protocol_has_up_to_64_messages(self):
        def protocol(count, served):
            names = [f"m{i}" for i in range(count)]
            routes = [f"GYRE_ON_{'ASK' if i % 2 else 'NOTICE'}(m{i}, on_any)" for i in range(served)]
            return "\n".join([self.SHOP] + [
                f"struct m{i} {{ int x; }};\n"
                + (f"GYRE_REQUEST(m{i}, {0x200 + i}, price);" if i % 2 else f"GYRE_MESSAGE(m{i}, {0x200 + i});")
                for i in range(count)] + [
                    f"GYRE_PROTOCOL(large, {', '.join(names)});", f"GYRE_SERVES(all, large, {', '.join(routes)});"])
        for count in (1, 8, 9, 32, 33, 64):
            self.passes("return gyre_tell(stack, gyre_address_as(large, to), m0, 1);", protocol(count, count))
        self.fails(outside=protocol(64, 63), because="gyre_large_takes_m63")
        self.fails(outside=protocol(65, 64))

    def test_the_routes_of_a_protocol_are_those_of_a_behaviour(self):
        routes = self.SHOP + "GYRE_SERVES(counter, shop, GYRE_ON_NOTICE(restock, on_any), GYRE_ON_ASK(price_of, on_any));\n"
        self.passes("struct gyre_behaviour made;\nmade.notice_routes = GYRE_NOTICE_ROUTES_OF(counter);\n"
                    "made.ask_routes = GYRE_ASK_ROUTES_OF(counter);\n(void)made;", routes)
        self.passes(outside=routes + "#ifndef __cplusplus\nextern const struct gyre_class shop_class;\n"
                    "const struct gyre_class shop_class = { .name = \"shop\", .behaviour = { GYRE_ROUTES_OF(counter) } };\n"
                    "#endif")

    def test_a_typed_address_costs_no_instruction(self):
        calls = {"gyre_notify(stack, to, gyre_new(stack, restock, 7, 1))":
                 "gyre_tell(stack, shop, restock, 7, 1)",
                 "gyre_ask(stack, to, gyre_new(stack, price_of, 7), 5, future)":
                 "gyre_ask_of(stack, shop, 5, future, price_of, 7)",
                 "gyre_system_notify(gyre_system_of(stack), to, gyre_system_new(gyre_system_of(stack), restock, 7, 1))":
                 "gyre_system_tell(gyre_system_of(stack), shop, restock, 7, 1)"}
        shop = "const struct shop_address shop = gyre_address_as(shop, to);\n(void)shop;\nreturn %s;"
        for plain, typed in calls.items():
            for compiler in self.compilers():
                made = []
                for call in (plain, typed):
                    path = self.plant("typed.c", PROGRAM.replace("@outside@", self.SHOP)
                                      .replace("@inside@", shop % call))
                    status, output = self.run_command([*compiler, *FLAGS, "-O2", "-S", "-o", "-", path])
                    self.assertEqual(status, 0, output)
                    self.assertIn("call", output)
                    made.append(output)
                self.assertEqual(made[0], made[1], compiler[0])


@unittest.skipUnless(shutil.which("g++") or shutil.which("clang++"), "there is no compiler of C++")
class Coroutines(Compiled):
    """What gyre.hpp refuses, in C++20."""

    PROGRAM = planted.IDEA + """#include <gyre/gyre.hpp>

struct price { int cents; };
GYRE_MESSAGE(price, 0x101);
struct price_of { int item; };
GYRE_REQUEST(price_of, 0x102, price);
struct stock_of { int item; };
GYRE_REQUEST(stock_of, 0x103, price);
struct restock { int item; int count; };
GYRE_MESSAGE(restock, 0x104);
struct close_up { int hour; };
GYRE_MESSAGE(close_up, 0x105);
struct plain { int x; };
GYRE_PROTOCOL(shop, restock, price_of);
@outside@

gyre::task<> handle(gyre_stack *stack, shop_address shop, gyre_address any);

gyre::task<> handle(gyre_stack *stack, shop_address shop, gyre_address any)
{
	auto answer = co_await gyre::ask(stack, shop, price_of{ 1 });

	(void)any;
	@inside@
	co_return answer.error();
}
"""

    def compilers(self):
        return [[name, *CXX20] for name in ("g++", "clang++") if shutil.which(name)]

    def outcomes(self, outside, inside):
        path = self.plant("typed.cc", self.PROGRAM.replace("@inside@", inside).replace("@outside@", outside))
        for compiler in self.compilers():
            header = precompiled.flags(compiler, "gyre.hpp")
            status, output = self.run_command([*compiler, *header, *FLAGS, "-fsyntax-only", path])
            self.assertTrue(status == 0 or "error:" in output, output)
            yield compiler[0], output if status != 0 else ""

    def test_messages_of_the_protocol_are_told_and_asked(self):
        self.passes("(void)gyre::tell(stack, shop, restock{ 1, 2 }); (void)answer->cents;\n"
                    "(void)gyre::tell(stack, any, close_up{ 1 }); answer = co_await gyre::ask(stack, any, stock_of{ 1 });")

    def test_another_message_is_not(self):
        because = "the protocol of this address does not have this message"
        self.fails("(void)gyre::tell(stack, shop, close_up{ 1 });", because=because)
        self.fails("answer = co_await gyre::ask(stack, shop, stock_of{ 1 });", because=because)
        self.fails("(void)gyre::tell(stack, any, plain{ 1 });", because="this struct was not declared as a message")

    def test_a_request_is_not_told_and_a_notice_not_asked(self):
        self.fails("(void)gyre::tell(stack, shop, price_of{ 1 });", because="this message is a request: ask it")
        self.fails("(void)gyre::ask(stack, shop, restock{ 1, 2 });", because="this message has no answer: tell it")

    def test_an_answer_is_of_its_own_type(self):
        self.fails("(void)answer->item;", because="item")
        self.fails("gyre::future<restock> other = gyre::ask(stack, shop, price_of{ 1 });")
        self.fails("restock other; (void)answer.move_to(other);")

    DERIVED = ("struct larger : restock { char more[64]; };\n"
               "struct largest : price_of { char more[64]; };\n")
    DECLARED = DERIVED + "GYRE_MESSAGE(larger, 0x106);\nGYRE_REQUEST(largest, 0x107, price);\n"

    def test_a_derived_struct_is_not_its_base(self):
        no_message, other = "this struct was not declared as a message", "the protocol of this address does not have this message"
        for to in ("shop", "any"):
            self.fails(f"(void)gyre::tell(stack, {to}, larger{{}});", self.DERIVED, no_message)
            self.fails(f"answer = co_await gyre::ask(stack, {to}, largest{{}});", self.DERIVED, "this message has no answer")
            self.fails(f"(void)gyre::tell(stack, {to}, largest{{}});", self.DERIVED, no_message)
        self.fails("(void)gyre::tell(stack, shop, larger{});", self.DECLARED, other)
        self.fails("answer = co_await gyre::ask(stack, shop, largest{});", self.DECLARED, other)
        self.passes("(void)gyre::tell(stack, any, larger{}); answer = co_await gyre::ask(stack, any, largest{});",
                    self.DECLARED)
        self.fails("(void)answer.as<larger>();", self.DERIVED, "larger")
        self.passes("(void)answer.as<larger>();", self.DECLARED)

    def test_a_task_is_awaited_where_it_is_made_or_as_one_that_is_moved(self):
        part = "gyre::task<int> part(gyre_stack *stack);\n"
        self.passes("auto first = part(stack); (void)co_await part(stack); (void)co_await std::move(first);", part)
        self.fails("auto first = part(stack); (void)co_await first;", part)

    def test_a_class_with_a_frame_of_its_own_has_no_coroutines(self):
        made = ("void clean(void *frame, void *state);\n"
                "constexpr gyre_class made = gyre::with_coroutines({ .name = \"made\", %s });")
        self.passes("(void)made;", made % ".state_bytes = 8")
        for member in (".frame_bytes = 8", ".frame_clean = clean"):
            self.fails("(void)made;", made % member, "class_has_a_frame_of_its_own")


if __name__ == "__main__":
    planted.main()
