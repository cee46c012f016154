// SPDX-License-Identifier: MIT
import Foundation

#if canImport(MediaPlayer)
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
  /// Nil where the bytes are no picture that the system reads.
  static func picture(_ data: Data) -> MPMediaItemArtwork? {
    guard let image = ArtworkImage(data: data) else { return nil }
    // Called on a thread of the system's choice, so it takes the bytes with it, not the image.
    return MPMediaItemArtwork(boundsSize: image.size) { @Sendable _ in
      ArtworkImage(data: data) ?? ArtworkImage()
    }
  }
}
