// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  /// AVQueuePlayer as documented by Apple: played items leave the queue.
  @available(iOS 4.1, macOS 10.7, tvOS 9, visionOS 1, *)
  @MainActor open class AVQueuePlayer: AVPlayer {
    private var queue: [AVPlayerItem] = []

    override public init() {
      super.init()
      actionAtItemEnd = .advance
    }

    public convenience init(items: [AVPlayerItem]) {
      self.init()
      for item in items { insert(item, after: nil) }
    }

    open func items() -> [AVPlayerItem] { queue }

    open func canInsert(_ item: AVPlayerItem, after afterItem: AVPlayerItem?) -> Bool {
      !queue.contains { $0 === item } && item.player == nil
    }

    /// - Parameter afterItem: nil: appends at the end.
    open func insert(_ item: AVPlayerItem, after afterItem: AVPlayerItem?) {
      guard canInsert(item, after: afterItem) else {
        standInViolations.append("NSInvalidArgumentException: an item cannot be enqueued twice")
        return
      }
      var index = queue.count
      if let afterItem {
        guard let found = queue.firstIndex(where: { $0 === afterItem }) else {
          standInViolations.append("NSInvalidArgumentException: the item to insert after is gone")
          return
        }
        index = found + 1
      }
      queue.insert(item, at: index)
      enqueue(item)
      follow()
    }

    open func remove(_ item: AVPlayerItem) {
      guard let index = queue.firstIndex(where: { $0 === item }) else { return }
      queue.remove(at: index)
      leave(item)
      follow()
    }

    open func removeAllItems() {
      let items = queue
      queue = []
      for item in items { leave(item) }
      follow()
    }

    open func advanceToNextItem() {
      guard let first = queue.first else { return }
      remove(first)
    }

    override open func replaceCurrentItem(with item: AVPlayerItem?) {
      if let first = queue.first {
        queue.removeFirst()
        leave(first)
      }
      if let item {
        queue.insert(item, at: 0)
        enqueue(item)
      }
      follow()
    }

    private func follow() {
      currentItem = queue.first
      settle()
    }

    override func itemHasEnded() {
      if actionAtItemEnd == .advance { advanceToNextItem() } else { super.itemHasEnded() }
    }
  }
#endif
