// How the compiler's programs run under the address sanitizer, unless ASAN_OPTIONS says otherwise. LLVM's allocators, whose code stands
// in headers, poison what they have not handed out; but the LLVM libraries of the system are not instrumented and hand out parts of
// the same slabs without saying so. What user code poisons is therefore not looked at; the heap, the stack and globals are.
__attribute__((visibility("default"), no_sanitize("address"))) const char *__asan_default_options(void);

__attribute__((visibility("default"), no_sanitize("address"))) const char *__asan_default_options(void) {
  return "allow_user_poisoning=0";
}
