/*
 * A macro over each of up to 64 arguments, which the lists of protocol.h are made with: nothing
 * here is for direct use.
 *
 * GYRE_EACH_(M, CONTEXT, a, b) is M(CONTEXT, a) M(CONTEXT, b). The arguments are counted, and eight
 * are done at a time: so compilers, which name each macro on the way to an error, name few of them.
 */
#ifndef GYRE_EACH_H
#define GYRE_EACH_H

#define GYRE_EACH_(M, CONTEXT, ...) \
	GYRE_EACH_PASTE_(GYRE_EACH_, GYRE_EACH_COUNT_(__VA_ARGS__))(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_PASTE_(A, NUMBER)	  GYRE_EACH_PASTE_AGAIN_(A, NUMBER)
#define GYRE_EACH_PASTE_AGAIN_(A, NUMBER) A##NUMBER##_

#define GYRE_EACH_COUNT_(...)                                                                    \
	GYRE_EACH_PICK_(__VA_ARGS__, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, \
			49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,  \
			31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,  \
			13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define GYRE_EACH_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16,     \
			a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, \
			a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, \
			a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, \
			a62, a63, a64, N, ...)                                                     \
	N

#define GYRE_EACH_1_(M, CONTEXT, a)	     M(CONTEXT, a)
#define GYRE_EACH_2_(M, CONTEXT, a, b)	     M(CONTEXT, a) M(CONTEXT, b)
#define GYRE_EACH_3_(M, CONTEXT, a, b, c)    M(CONTEXT, a) M(CONTEXT, b) M(CONTEXT, c)
#define GYRE_EACH_4_(M, CONTEXT, a, b, c, d) M(CONTEXT, a) M(CONTEXT, b) M(CONTEXT, c) M(CONTEXT, d)
#define GYRE_EACH_5_(M, CONTEXT, a, b, c, d, e) \
	M(CONTEXT, a) M(CONTEXT, b) M(CONTEXT, c) M(CONTEXT, d) M(CONTEXT, e)
#define GYRE_EACH_6_(M, CONTEXT, a, b, c, d, e, f) \
	M(CONTEXT, a) M(CONTEXT, b) M(CONTEXT, c) M(CONTEXT, d) M(CONTEXT, e) M(CONTEXT, f)
#define GYRE_EACH_7_(M, CONTEXT, a, b, c, d, e, f, g) \
	M(CONTEXT, a)                                 \
	M(CONTEXT, b) M(CONTEXT, c) M(CONTEXT, d) M(CONTEXT, e) M(CONTEXT, f) M(CONTEXT, g)
#define GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) \
	M(CONTEXT, a)                                    \
	M(CONTEXT, b)                                    \
	M(CONTEXT, c) M(CONTEXT, d) M(CONTEXT, e) M(CONTEXT, f) M(CONTEXT, g) M(CONTEXT, h)
#define GYRE_EACH_9_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_1_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_10_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_2_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_11_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_3_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_12_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_4_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_13_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_5_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_14_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_6_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_15_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_7_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_16_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_8_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_17_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_9_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_18_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_10_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_19_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_11_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_20_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_12_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_21_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_13_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_22_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_14_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_23_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_15_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_24_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_16_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_25_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_17_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_26_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_18_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_27_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_19_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_28_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_20_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_29_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_21_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_30_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_22_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_31_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_23_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_32_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_24_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_33_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_25_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_34_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_26_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_35_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_27_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_36_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_28_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_37_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_29_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_38_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_30_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_39_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_31_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_40_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_32_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_41_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_33_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_42_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_34_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_43_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_35_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_44_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_36_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_45_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_37_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_46_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_38_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_47_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_39_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_48_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_40_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_49_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_41_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_50_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_42_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_51_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_43_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_52_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_44_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_53_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_45_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_54_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_46_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_55_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_47_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_56_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_48_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_57_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_49_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_58_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_50_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_59_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_51_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_60_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_52_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_61_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_53_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_62_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_54_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_63_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_55_(M, CONTEXT, __VA_ARGS__)
#define GYRE_EACH_64_(M, CONTEXT, a, b, c, d, e, f, g, h, ...) \
	GYRE_EACH_8_(M, CONTEXT, a, b, c, d, e, f, g, h) GYRE_EACH_56_(M, CONTEXT, __VA_ARGS__)

#endif
