// SPDX-License-Identifier: MIT
import Foundation

/// The program that is measured.
enum Program {
  /// `REFRAIN_BENCH_PROGRAM`, else the release build of the package.
  static let refrain =
    ProcessInfo.processInfo.environment["REFRAIN_BENCH_PROGRAM"] ?? ".build/release/refrain"

  /// This program.
  static let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path

  /// Removes variables that would route requests around the measured program.
  static func forgetProxies() {
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
      unsetenv(name)
      unsetenv(name.uppercased())
    }
  }
}
