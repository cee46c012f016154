// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation
  import Refrain
  import RefrainLocks

  /// One download from the first byte on, kept in memory; a request is answered when the download
  /// has reached it; the file is written when it is complete. As published by CachingPlayerItem.
  ///
  /// With `scansEveryByte` the bytes are taken one by one from an asynchronous sequence, and each
  /// one triggers a check of every waiting request, as in published variations. The checks are only
  /// counted: otherwise it is the same.
  final class WholeInMemory: EarlierDesign {
    private struct State {
      var calls: [Call] = []
      var bytes = Data()
      var length: Int64?
      var download: Task<Void, Never>?
      var hasEnded = false
    }

    private let url: URL
    private let file: URL
    private let scansEveryByte: Bool
    private let transport: any Transport
    private let meter: Meter
    private let state = Mutex(State())

    init(
      _ url: URL, file: URL, scansEveryByte: Bool, transport: any Transport, meter: Meter
    ) {
      self.url = url
      self.file = file
      self.scansEveryByte = scansEveryByte
      self.transport = transport
      self.meter = meter
      guard let stored = try? Data(contentsOf: file) else { return }
      // Played from the saved file, which is read into memory as a whole.
      meter.hold(stored.count)
      state.withLock { state in
        state.bytes = stored
        state.length = Int64(stored.count)
      }
    }

    func add(_ call: Call) {
      state.withLock { state in
        state.calls.append(call)
        if state.length == nil, state.download == nil {
          state.download = Task { [weak self, url, transport] in
            guard let download = try? await Download(url, nil, by: transport) else { return }
            self?.began(length: download.length)
            do {
              for try await chunk in download.body { self?.received(chunk) }
            } catch {}
          }
        }
        answer(&state)
      }
    }

    func cancel(_ call: Call) {
      state.withLock { $0.calls.removeAll { $0.id == call.id } }
    }

    func end() {
      state.withLock { state in
        state.download?.cancel()
        state.hasEnded = true
        meter.letGo(state.bytes.count)
        state.bytes = Data()
      }
    }

    private func began(length: Int64) {
      state.withLock { state in
        state.length = length
        answer(&state)
      }
    }

    private func received(_ chunk: Data) {
      state.withLock { state in
        guard !state.hasEnded else { return }
        state.bytes.append(chunk)
        meter.hold(chunk.count)
        if scansEveryByte { meter.scanned((chunk.count - 1) * state.calls.count) }
        save(state)
        answer(&state)
      }
    }

    /// Saves the file before the last request is answered, after which the player may leave.
    private func save(_ state: State) {
      guard Int64(state.bytes.count) == state.length else { return }
      if (try? state.bytes.write(to: file)) != nil { meter.wrote(media: state.bytes.count) }
    }

    private func answer(_ state: inout State) {
      guard let length = state.length else { return }
      meter.scanned(state.calls.count)
      for call in state.calls {
        call.describe(length: length)
        let end = call.end(length: length)
        let upTo = min(Int64(state.bytes.count), end)
        if call.offset < upTo {
          // This copies.
          let piece = state.bytes.subdata(in: Int(call.offset)..<Int(upTo))
          meter.hold(piece.count)
          call.give(piece)
          meter.letGo(piece.count)
        }
        if upTo >= end { call.finish() }
      }
      let count = Int64(state.bytes.count)
      state.calls.removeAll { $0.end(length: length) <= count }
    }
  }
#endif
