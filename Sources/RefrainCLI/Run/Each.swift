// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain

/// Does the work for each URL in turn. One that fails is told in a line and does not keep the
/// others from their turn; the program then ends as failed.
func each(of urls: [URL], _ work: (URL) async throws -> Void) async throws {
  var hasFailed = false
  for url in urls {
    do {
      try await work(url)
    } catch let error as MediaCacheError where error.code != .closed {
      Console.shared.clear()
      Console.shared.note(failureLine(url, error))
      hasFailed = true
    }
    try Task.checkCancellation()
  }
  if hasFailed { throw ExitCode.failure }
}

/// What failed and the remedy, in exactly one line.
func failureLine(_ url: URL, _ error: MediaCacheError) -> String {
  let address =
    url.isFileURL ? url.path(percentEncoded: false) : url.withoutUserInfo.absoluteString
  // Which one, where the words do not say.
  return
    "refrain: \(printable(error.reason.contains(address) ? "\(error)" : "\(address): \(error)"))"
}
