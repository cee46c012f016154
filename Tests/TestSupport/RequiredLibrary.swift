// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc

  /// A system library that Refrain loads at run time.
  ///
  /// Tests that need it are skipped, or fail, as those that need a `RequiredProgram`. No
  /// environment variable of ours can hide it from the tested code: `make test-bare` has the
  /// dynamic linker find an empty file in its place. Use:
  ///
  ///     @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable))
  package struct RequiredLibrary: Sendable {
    private let requirement: Requirement<Void>

    /// Loads the library as the product does, because nothing else shows which one the dynamic
    /// linker finds. Keep it in a `static let`, so that this happens once.
    package init(
      _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
      requirement = Requirement(name, environment: environment) {
        dlopen(name, RTLD_LAZY | RTLD_LOCAL).map { _ in }
      }
    }

    /// Whether tests that need it run. Also true if it is missing but required.
    package var isUsable: Bool { requirement.isUsable }

    package static let libmpv = RequiredLibrary("libmpv.so.2")
    package static let libsystemd = RequiredLibrary("libsystemd.so.0")
  }
#endif
