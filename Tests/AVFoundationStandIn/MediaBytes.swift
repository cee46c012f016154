// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation
  import RefrainLocks

  /// The bytes of one player item, requested as AVFoundation requests a WAV file: the content
  /// information, then everything from the start; after a seek, everything from there.
  @MainActor final class MediaBytes {
    /// Data received on the delegate's thread that the main thread has not processed yet.
    private struct Arrived {
      var spans = RangeSet<Int64>()
      var head: [UInt8] = []
      var isToldOf = false
    }

    enum Kind {
      case unknown
      case file(WAVFormat)
      /// AVFoundation loads it itself, from its own URL.
      case stream
      case unplayable
    }

    private(set) var kind = Kind.unknown
    private(set) var spans = RangeSet<Int64>()
    private(set) var failure: (any Error)?
    private let asset: AVURLAsset
    private let onChange: @MainActor () -> Void
    private let arrived = Mutex(Arrived())
    private var request: PlayerRequest?
    private var reads: UInt64 = 0
    /// The maximum length of a file's head that is parsed.
    private nonisolated static let headLength = 65_536

    init(_ asset: AVURLAsset, onChange: @escaping @MainActor () -> Void) {
      self.asset = asset
      self.onChange = onChange
    }

    func begin() {
      guard reads == 0 else { return }
      if asset.url.isFileURL { return beginFile() }
      ask(.information()) { bytes in bytes.read(from: 0) }
    }

    private func beginFile() {
      reads += 1
      do {
        let data = try Data(contentsOf: asset.url)
        take(at: 0, data)
        learn()
      } catch {
        failure = error
      }
      // The report comes later, as always.
      Task { onChange() }
    }

    /// Reads from that offset to the end, replacing the request in progress.
    func read(from offset: Int64) {
      ask(.toEnd(from: offset)) { _ in }
    }

    private func ask(_ wish: Wish, then next: @escaping @MainActor (MediaBytes) -> Void) {
      cancel()
      reads += 1
      let read = reads
      failure = nil
      let request = asset.standInRequest(wish) { [weak self] offset, data in
        self?.take(at: offset, data)
      }
      self.request = request
      Task { [weak self] in
        let outcome = await request.end()
        guard let self, self.reads == read else { return }
        self.request = nil
        self.learn()
        switch outcome {
        case .finished(redirect: .some), .notMediated: self.kind = .stream
        case .finished: next(self)
        case .failed(let error): self.failure = error
        case .cancelled, .refused: self.failure = URLError(.cancelled)
        }
        self.onChange()
      }
    }

    /// Receives data on the delegate's thread.
    private nonisolated func take(at offset: Int64, _ data: Data) {
      let isNews = arrived.withLock { arrived in
        arrived.spans.insert(contentsOf: offset..<offset + Int64(data.count))
        if offset <= Int64(arrived.head.count), arrived.head.count < Self.headLength {
          arrived.head += data.dropFirst(arrived.head.count - Int(offset)).prefix(Self.headLength)
        }
        defer { arrived.isToldOf = true }
        return !arrived.isToldOf
      }
      guard isNews else { return }
      Task { @MainActor [weak self] in
        self?.learn()
        self?.onChange()
      }
    }

    private func learn() {
      let head = arrived.withLock { arrived in
        arrived.isToldOf = false
        spans = arrived.spans
        return arrived.head
      }
      guard case .unknown = kind else { return }
      switch WAVFormat.parse(head) {
      case .format(let format): kind = .file(format)
      case .isNot: if head.count >= 12 { kind = .unplayable }
      case .needsMore: if head.count >= Self.headLength { kind = .unplayable }
      }
    }

    /// Cancels the request: nothing more comes.
    func cancel() {
      reads += 1
      guard let request else { return }
      self.request = nil
      Task { await request.cancel() }
    }

    deinit {
      guard let request else { return }
      Task { await request.cancel() }
    }
  }
#endif
