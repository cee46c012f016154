// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Dispatch
  public import Foundation

  public struct AVMetadataKey: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let commonKeyTitle = AVMetadataKey(rawValue: "title")
    public static let commonKeyArtist = AVMetadataKey(rawValue: "artist")
    public static let commonKeyAlbumName = AVMetadataKey(rawValue: "albumName")
  }

  public struct AVMetadataIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let icyMetadataStreamTitle = AVMetadataIdentifier(rawValue: "icy/StreamTitle")
  }

  /// Not Sendable, as Apple's class in earlier SDKs.
  open class AVMetadataItem: NSObject, AVAsynchronousKeyValueLoading {
    public let commonKey: AVMetadataKey?
    public let identifier: AVMetadataIdentifier?
    let text: String?

    package init(
      commonKey: AVMetadataKey? = nil, identifier: AVMetadataIdentifier? = nil, text: String?
    ) {
      self.commonKey = commonKey
      self.identifier = identifier
      self.text = text
    }

    static func items(of format: WAVFormat) -> [StandInMetadata] {
      let keys: [(String, AVMetadataKey)] = [
        ("INAM", .commonKeyTitle), ("IART", .commonKeyArtist), ("IPRD", .commonKeyAlbumName),
      ]
      return keys.compactMap { name, key in
        format.texts[name].map { StandInMetadata(commonKey: key, text: $0) }
      }
    }
  }

  /// The contents of a metadata item that does not exist yet.
  package struct StandInMetadata: Sendable, Hashable {
    package var commonKey: AVMetadataKey?
    package var identifier: AVMetadataIdentifier?
    package var text: String?

    package init(
      commonKey: AVMetadataKey? = nil, identifier: AVMetadataIdentifier? = nil, text: String? = nil
    ) {
      self.commonKey = commonKey
      self.identifier = identifier
      self.text = text
    }

    var item: AVMetadataItem {
      AVMetadataItem(commonKey: commonKey, identifier: identifier, text: text)
    }
  }

  extension AVPartialAsyncProperty where Root: AVMetadataItem {
    public static var stringValue: AVAsyncProperty<Root, String?> {
      AVAsyncProperty { $0.text }
    }
  }

  extension AVPartialAsyncProperty where Root: AVAsset {
    public static var commonMetadata: AVAsyncProperty<Root, [AVMetadataItem]> {
      AVAsyncProperty { $0.standInMetadata.map(\.item) }
    }
  }

  // MARK: Timed metadata

  open class AVTimedMetadataGroup: NSObject {
    public let items: [AVMetadataItem]
    init(items: [AVMetadataItem]) { self.items = items }
  }

  open class AVPlayerItemTrack: NSObject {}

  open class AVPlayerItemOutput: NSObject {}

  public protocol AVPlayerItemMetadataOutputPushDelegate: NSObjectProtocol {
    func metadataOutput(
      _ output: AVPlayerItemMetadataOutput,
      didOutputTimedMetadataGroups groups: [AVTimedMetadataGroup],
      from track: AVPlayerItemTrack?)
  }

  open class AVPlayerItemMetadataOutput: AVPlayerItemOutput {
    public private(set) weak var delegate: (any AVPlayerItemMetadataOutputPushDelegate)?
    private var queue: DispatchQueue?

    public init(identifiers: [String]?) {}

    open func setDelegate(
      _ delegate: (any AVPlayerItemMetadataOutputPushDelegate)?, queue delegateQueue: DispatchQueue?
    ) {
      self.delegate = delegate
      queue = delegateQueue
    }

    func emit(_ metadata: [StandInMetadata]) {
      // Unsafe only by their types: the code that set the delegate made both for its queue.
      nonisolated(unsafe) let (output, delegate) = (self, self.delegate)
      queue?.async {
        delegate?.metadataOutput(
          output,
          didOutputTimedMetadataGroups: [AVTimedMetadataGroup(items: metadata.map(\.item))],
          from: nil)
      }
    }
  }

  extension AVPlayerItem {
    /// Delivers timed metadata while the media plays.
    package func standInEmit(_ metadata: [StandInMetadata]) {
      for output in outputs { (output as? AVPlayerItemMetadataOutput)?.emit(metadata) }
    }
  }
#endif
