// SPDX-License-Identifier: MIT
#if os(Linux)
  import TestSupport
  import Testing

  /// The conditions under which tests against system libraries run.
  struct RequiredLibraryTests {
    @Test func `A library that can be loaded is usable`() {
      #expect(RequiredLibrary("libc.so.6", environment: [:]).isUsable)
    }

    @Test func `A missing library counts as usable only if clients are required`() {
      let name = "librefrain-no-such.so.1"
      #expect(!RequiredLibrary(name, environment: [:]).isUsable)
      #expect(RequiredLibrary(name, environment: ["REFRAIN_REQUIRE_CLIENTS": "1"]).isUsable)
    }

    @Test(arguments: ["0", "1"])
    func `A hidden library is not usable`(_ isRequired: String) {
      let environment = ["REFRAIN_HIDE_CLIENTS": "1", "REFRAIN_REQUIRE_CLIENTS": isRequired]
      #expect(!RequiredLibrary("libc.so.6", environment: environment).isUsable)
    }
  }
#endif
