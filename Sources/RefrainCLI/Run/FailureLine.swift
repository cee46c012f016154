// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// What failed and the remedy, in exactly one line.
func failureLine(_ url: URL, _ error: MediaCacheError) -> String {
  let address =
    url.isFileURL ? url.path(percentEncoded: false) : url.withoutUserInfo.absoluteString
  // Which one, where the words do not say.
  return
    "refrain: \(printable(error.reason.contains(address) ? "\(error)" : "\(address): \(error)"))"
}
