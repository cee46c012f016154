// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation
  import Synchronization

  public let AVURLAssetPreferPreciseDurationAndTimingKey =
    "AVURLAssetPreferPreciseDurationAndTimingKey"
  public let AVURLAssetAllowsConstrainedNetworkAccessKey =
    "AVURLAssetAllowsConstrainedNetworkAccessKey"

  /// Unchecked, as Apple's, for it is open: all that changes is behind locks.
  open class AVAsset: NSObject, AVAsynchronousKeyValueLoading, @unchecked Sendable {
    let associations = AssociatedObjects()
    private let knownDuration = Mutex(CMTime.indefinite)
    private let knownMetadata = Mutex<[StandInMetadata]>([])

    /// What `load(.duration)` finds.
    package var standInDuration: CMTime {
      get { knownDuration.withLock { $0 } }
      set { knownDuration.withLock { $0 = newValue } }
    }

    /// What `load(.commonMetadata)` finds.
    package var standInMetadata: [StandInMetadata] {
      get { knownMetadata.withLock { $0 } }
      set { knownMetadata.withLock { $0 = newValue } }
    }
  }

  open class AVURLAsset: AVAsset, @unchecked Sendable {
    public let url: URL
    public let resourceLoader: AVAssetResourceLoader
    private let options: Mutex<[String: String]>

    public init(url: URL, options: [String: Any]? = nil) {
      self.url = url
      resourceLoader = AVAssetResourceLoader(url: url)
      self.options = Mutex((options ?? [:]).mapValues { "\($0)" })
    }

    /// The options that it was made with, as text.
    package var standInOptions: [String: String] { options.withLock { $0 } }
  }

  // MARK: Loading of properties

  public protocol AVAsynchronousKeyValueLoading: AnyObject {}

  open class AVPartialAsyncProperty<Root: AVAsynchronousKeyValueLoading> {}

  public final class AVAsyncProperty<Root: AVAsynchronousKeyValueLoading, Value>:
    AVPartialAsyncProperty<Root>
  {
    let read: @Sendable (Root) -> Value

    init(_ read: @Sendable @escaping (Root) -> Value) { self.read = read }
  }

  extension AVAsynchronousKeyValueLoading {
    public func load<Value>(_ property: AVAsyncProperty<Self, Value>) async throws
      -> Value
    {
      property.read(self)
    }
  }

  extension AVPartialAsyncProperty where Root: AVAsset {
    public static var duration: AVAsyncProperty<Root, CMTime> {
      AVAsyncProperty { $0.standInDuration }
    }
  }
#endif
