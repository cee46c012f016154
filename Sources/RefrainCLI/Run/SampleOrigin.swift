// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain

/// An origin on this computer that has one tune.
struct SampleOrigin: Sendable {
  let url: URL
  /// Of the tune, in bytes.
  let length: Int64

  static func start() async throws -> SampleOrigin {
    throw MediaCacheError(.storage, "The sample tune is not part of this build yet.")
  }

  /// Bytes of the tune that the origin has sent so far.
  var bytesSent: Int64 { 0 }

  func stop() async {}
}
