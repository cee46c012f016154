// SPDX-License-Identifier: MIT
import Foundation
package import Refrain

#if canImport(AVFoundation)
  package import AVFoundation
#else
  package import AVFoundationStandIn
#endif

/// Properties for a player that uses such assets.
extension AVURLAsset {
  /// Whether AVFoundation loads this asset through a delegate: its URL has no meaning elsewhere.
  package var hasDelegate: Bool { ResourceLoader.session(of: self) != nil }

  /// Whether AVFoundation receives this asset's bytes from the cache. False once AVFoundation is
  /// known to have to load them itself.
  package var isMediated: Bool { ResourceLoader.session(of: self)?.isRedirected == false }

  /// The statistics of the bytes given to AVFoundation so far; nil before the resource is opened,
  /// and for an asset that does not play through a cache.
  package var cacheStatistics: MediaReader.Statistics? {
    ResourceLoader.session(of: self)?.statistics
  }

  /// The error of AVFoundation's last request; nil if it succeeded. AVFoundation does not always
  /// pass on the error that it received.
  package var cacheFailure: MediaCacheError? { ResourceLoader.session(of: self)?.failure }
}
