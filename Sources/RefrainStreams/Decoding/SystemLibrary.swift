// SPDX-License-Identifier: MIT
import Foundation

/// A library of the system that is loaded when it is first used (dlopen(3)), and never unloaded: a
/// build needs neither the library nor its headers.
struct SystemLibrary {
  private let handle: UnsafeMutableRawPointer

  /// - Returns: nil if there is no such library.
  init?(_ name: String) {
    guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
    self.handle = handle
  }

  /// Returns a function of the library, nil if it lacks that. The caller's type for it is that which
  /// the library's header declares.
  func function<Function>(_ symbol: String) -> Function? {
    dlsym(handle, symbol).map { unsafeBitCast($0, to: Function.self) }
  }
}
