// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc

  /// A library of the system that Refrain loads while it runs.
  ///
  /// Tests that need it are skipped, or fail, as those that need a `RequiredProgram`. It cannot be
  /// hidden from what is tested by a variable of ours: `make test-bare` has the dynamic linker find an
  /// empty file in its place. Use:
  ///
  ///     @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable))
  package struct RequiredLibrary: Sendable {
    private let requirement: Requirement<Void>

    /// Loads it as the product does, for there is no other way to know what the dynamic linker finds.
    /// Keep it in a `static let`, so that this happens once.
    package init(
      _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
      requirement = Requirement(name, environment: environment) {
        dlopen(name, RTLD_LAZY | RTLD_LOCAL).map { _ in }
      }
    }

    /// Whether tests that need it are to run. True also where it is missing and must not be.
    package var isUsable: Bool { requirement.isUsable }

    package static let libmpv = RequiredLibrary("libmpv.so.2")
  }
#endif
