// SPDX-License-Identifier: MIT
import Dispatch
import Foundation

#if canImport(AVFoundation)
  import AVFoundation
#else
  import AVFoundationStandIn
#endif

/// The metadata of an item: from its header, and as timed metadata while it plays, as radio sends.
@MainActor final class ItemMetadata {
  private(set) var metadata = MediaMetadata()
  private let onChange: @Sendable () -> Void
  private let output = AVPlayerItemMetadataOutput(identifiers: nil)
  private var listener: TimedMetadataListener?
  private var task: Task<Void, Never>?

  init(onChange: @escaping @Sendable () -> Void) { self.onChange = onChange }

  deinit { task?.cancel() }

  /// Observes timed metadata. The output does not retain its delegate.
  func attach(to item: AVPlayerItem) {
    let listener = TimedMetadataListener { [weak self] texts in
      onMainThread { self?.take(texts) }
    }
    self.listener = listener
    output.setDelegate(listener, queue: .main)
    item.add(output)
  }

  func load(from asset: AVURLAsset) {
    guard task == nil else { return }
    task = Task { [weak self] in
      let texts = await MetadataTexts.head(of: asset)
      guard !Task.isCancelled else { return }
      self?.take(texts)
    }
  }

  private func take(_ texts: MetadataTexts) {
    metadata.take(texts)
    onChange()
  }
}

/// The metadata texts of one source.
struct MetadataTexts: Sendable, Hashable {
  var title: String?
  var artist: String?
  var album: String?
  var streamTitle: String?

  /// Returns the texts of the header. Unreadable ones are nil: media without a title plays as well.
  nonisolated static func head(of asset: AVURLAsset) async -> MetadataTexts {
    guard let items = try? await asset.load(.commonMetadata) else { return MetadataTexts() }
    return await MetadataTexts(items)
  }

  init() {}

  init(_ items: [AVMetadataItem]) async {
    for item in items {
      guard let text = try? await item.load(.stringValue), !text.isEmpty else { continue }
      if item.identifier == .icyMetadataStreamTitle {
        streamTitle = text
        continue
      }
      switch item.commonKey {
      case .commonKeyTitle?: title = text
      case .commonKeyArtist?: artist = text
      case .commonKeyAlbumName?: album = text
      default: break
      }
    }
  }
}

extension MediaMetadata {
  /// Replaces the texts that are given, and keeps the others.
  mutating func take(_ texts: MetadataTexts) {
    title = texts.title ?? title
    artist = texts.artist ?? artist
    album = texts.album ?? album
    streamTitle = texts.streamTitle ?? streamTitle
  }
}

/// Receives timed metadata, on the queue given to AVFoundation.
private final class TimedMetadataListener: NSObject, AVPlayerItemMetadataOutputPushDelegate {
  private let onTexts: @Sendable (MetadataTexts) -> Void

  init(onTexts: @escaping @Sendable (MetadataTexts) -> Void) { self.onTexts = onTexts }

  func metadataOutput(
    _ output: AVPlayerItemMetadataOutput,
    didOutputTimedMetadataGroups groups: [AVTimedMetadataGroup], from track: AVPlayerItemTrack?
  ) {
    // Unsafe only by its type: AVFoundation does not change the items after it has delivered them.
    nonisolated(unsafe) let items = groups.flatMap(\.items)
    Task { [onTexts] in onTexts(await MetadataTexts(items)) }
  }
}
