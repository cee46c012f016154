// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Returns the failure and the remedy, in exactly one line.
func failureLine(_ url: URL, _ error: MediaCacheError) -> String {
  let address =
    url.isFileURL ? url.path(percentEncoded: false) : url.withoutUserInfo.absoluteString
  // Adds the address if the reason does not name it.
  return
    "refrain: \(printable(error.reason.contains(address) ? "\(error)" : "\(address): \(error)"))"
}
