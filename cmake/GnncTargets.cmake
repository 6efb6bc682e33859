# Helpers shared by all targets: warnings, sanitizers, and libraries that use MLIR with one precompiled header.

add_library(gnnc_options INTERFACE)
target_compile_options(gnnc_options INTERFACE -Wall -Wextra -Wno-unused-parameter $<$<BOOL:${GNNC_WARNINGS_AS_ERRORS}>:-Werror>)
if(GNNC_SANITIZE)
  target_compile_options(gnnc_options INTERFACE -fsanitize=${GNNC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(gnnc_options INTERFACE -fsanitize=${GNNC_SANITIZE})
endif()

# A library of the compiler: gnnc_mlir_library(Name sources...). Links libMLIR.so; depends on the generated dialect headers.
function(gnnc_mlir_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC gnnc_options MLIR LLVM)
  add_dependencies(${name} gnnc-headers)
  if(TARGET gnnc_pch AND NOT name STREQUAL "gnnc_pch")
    target_precompile_headers(${name} REUSE_FROM gnnc_pch)
  endif()
endfunction()

# A program of the compiler: gnnc_mlir_executable(name sources...).
function(gnnc_mlir_executable name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  if(GNNC_SANITIZE MATCHES address)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/AsanOptions.c)
  endif()
endfunction()
