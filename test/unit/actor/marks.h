/*
 * What actors have done, in the order in which they did it: a character each, in a test that is
 * played with the testkit.
 */
#ifndef GY_TEST_MARKS_H
#define GY_TEST_MARKS_H

/* For handlers. */
void mark(char what);
/* All marks until now. */
const char *marked(void);
void expect_marks(const char *expected);

#endif
