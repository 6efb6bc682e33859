// Registration of the passes that only tests use.
#ifndef GNNC_TEST_LIB_TESTPASSES_H
#define GNNC_TEST_LIB_TESTPASSES_H

namespace gnnc::test {
void registerTestPasses();
} // namespace gnnc::test

#endif
