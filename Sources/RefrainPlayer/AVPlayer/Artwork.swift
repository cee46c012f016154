// SPDX-License-Identifier: MIT
import Foundation

#if canImport(MediaPlayer)
  import CoreGraphics
  import MediaPlayer
#else
  import AVFoundationStandIn
#endif
#if canImport(UIKit)
  import UIKit
#elseif canImport(AppKit)
  import AppKit
#endif

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
  typealias ArtworkImage = NSImage
#else
  typealias ArtworkImage = UIImage
#endif

extension MPMediaItemArtwork {
  /// Returns the picture as artwork; nil if the system cannot decode the bytes.
  static func picture(_ data: Data) -> MPMediaItemArtwork? {
    guard let image = ArtworkImage(data: data) else { return nil }
    // Called on any thread, so the closure captures the bytes and not the image.
    return MPMediaItemArtwork(boundsSize: image.size) { @Sendable _ in
      ArtworkImage(data: data) ?? ArtworkImage()
    }
  }
}
