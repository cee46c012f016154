// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A failure of a command, with its remedy. The exit code is 1.
struct ProgramError: Error, Hashable, CustomStringConvertible {
  /// The failure and its cause, in one sentence.
  var reason: String
  /// The action that may help the user, in one sentence.
  var remedy: String

  init(_ reason: String, remedy: String) {
    self.reason = reason
    self.remedy = remedy
  }

  var description: String { "\(reason) \(remedy)" }

  static func nothingStored(of url: URL) -> ProgramError {
    ProgramError(
      "Nothing is stored for \(url.withoutUserInfo.absoluteString).",
      remedy: "'refrain get' fetches it; 'refrain ls' lists what is stored.")
  }
}
