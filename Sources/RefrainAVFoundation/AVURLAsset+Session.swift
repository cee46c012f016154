// SPDX-License-Identifier: MIT
import Foundation
package import Refrain

#if canImport(AVFoundation)
  package import AVFoundation
#else
  package import AVFoundationStandIn
#endif

/// What a player that is made of such assets asks them.
extension AVURLAsset {
  /// Whether AVFoundation asks a delegate for this asset: its URL means nothing to anybody else.
  package var hasDelegate: Bool { ResourceLoader.session(of: self) != nil }

  /// Whether AVFoundation is given this asset's bytes. False once it is known that AVFoundation has to
  /// load them by itself.
  package var isMediated: Bool { ResourceLoader.session(of: self)?.isRedirected == false }

  /// What AVFoundation was given of this asset so far; nil before the first of it, and for an asset
  /// that does not play through a cache.
  package var cacheStatistics: MediaReader.Statistics? {
    ResourceLoader.session(of: self)?.statistics
  }

  /// Why AVFoundation's last request could not be answered; nil where it could. AVFoundation does not
  /// always hand on the error that it was given.
  package var cacheFailure: MediaCacheError? { ResourceLoader.session(of: self)?.failure }
}
