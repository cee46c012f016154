// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Which positions are stored, and when.
struct MarkRecorderTests {
  @Test(
    arguments: [
      (300, 600, false), (300, 601, true), (0.9, 3600, false), (1, 3600, true),
      (3527, 3600, true), (3528, 3600, false), (670, 700, false), (669, 700, true),
    ] as [(Double, Double, Bool)])
  func `A position is kept in long media between their start and their end`(
    _ position: Double, _ duration: Double, _ isKept: Bool
  ) {
    #expect(ResumptionPolicy().keeps(.seconds(position), of: .seconds(duration)) == isKept)
  }

  @Test func `A part of the duration outside its range counts as the nearest`() {
    var policy = ResumptionPolicy()
    let parts =
      [(-1, true), (.nan, true), (0.5, true), (2, false), (.infinity, false)]
      as [(Double, Bool)]
    for (part, isKept) in parts {
      policy.endingPart = part
      #expect(policy.keeps(.seconds(1000), of: .seconds(3600)) == isKept, "\(part)")
    }
  }

  /// What is stored, as a killed program leaves it.
  private struct Storage {
    var marks: [URL: PlaybackMark] = [:]

    mutating func perform(_ actions: [MarkRecorder.Action]) {
      for action in actions {
        switch action {
        case .keep(let mark, let media, _): marks[media.url] = mark
        case .forget(let media): marks[media.url] = nil
        }
      }
    }
  }

  private static let names = ["long-3600", "long-700", "short-200", "live"]

  private func state(of name: String, in queue: PlayQueue) -> PlayerState {
    var state = PlayerState()
    state.queue = queue
    state.isLive = name == "live"
    state.duration = name.split(separator: "-").last.flatMap { Double($0) }.map { .seconds($0) }
    state.status = .playing
    return state
  }

  @Test func `A program killed at any time has lost at most a second`() {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let policy = ResumptionPolicy()
    for _ in 0..<200 {
      var queue = PlayQueue(seed: seed)
      queue.replace(with: Self.names.map { Media(URL(filePath: "/\($0)")) })
      var storage = Storage()
      var recorder = MarkRecorder(policy: policy)
      var state = state(of: Self.names[0], in: queue)
      for _ in 0..<60 {
        let length = state.duration?.inSeconds ?? 100
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
          guard let item = state.queue.items.randomElement(using: &random) else { break }
          let (left, position) = (state.item?.media.url, state.position)
          state.queue.jump(to: item.id)
          state = self.state(of: item.media.url.lastPathComponent, in: state.queue)
          state.position = storage.marks[item.media.url]?.position ?? .zero
          state.status = .loading
          storage.perform(recorder.note(state, ItemChoices(), now: Date()))
          if let left, let mark = storage.marks[left], left != item.media.url {
            #expect(mark.position == position, "an item that is left keeps its exact position")
          }
          state.status = .playing
        case 1: state.status = state.status == .paused ? .playing : .paused
        case 2:
          state.position = .seconds(Double.random(in: 0..<length, using: &random))
        case 3: state.status = .buffering(.bytes)
        default:
          state.status = state.status == .paused ? .paused : .playing
          let distance = Double.random(in: 0..<0.4, using: &random)
          if state.status == .playing { state.position += .seconds(distance) }
        }
        storage.perform(recorder.note(state, ItemChoices(), now: Date()))
        guard let url = state.item?.media.url else { continue }
        let mark = storage.marks[url]
        guard !state.isLive, let duration = state.duration,
          policy.keeps(state.position, of: duration)
        else {
          #expect(mark == nil, "\(url.lastPathComponent) at \(state.position)")
          continue
        }
        let lost = abs((state.position - (mark?.position ?? .seconds(-9))).inSeconds)
        #expect(lost < 1 && (state.status != .paused || lost == 0))
      }
      let (last, position) = (state.item?.media.url, state.position)
      storage.perform(recorder.leave())
      if let last, let mark = storage.marks[last] { #expect(mark.position == position) }
    }
  }

  @Test func `An item is stored about once in each second, at times against power cuts`() {
    var queue = PlayQueue()
    queue.replace(with: [Media(URL(filePath: "/long-3600"))])
    var state = state(of: "long-3600", in: queue)
    var recorder = MarkRecorder(policy: ResumptionPolicy())
    var stores: [MarkRecorder.Action] = []
    for tenth in 20..<620 {
      state.position = .milliseconds(tenth * 100)
      stores += recorder.note(state, ItemChoices(), now: Date())
    }
    #expect((59...61).contains(stores.count))
    let synced = stores.indices.filter { index in
      if case .keep(_, _, syncs: true) = stores[index] { true } else { false }
    }
    #expect(synced == Array(stride(from: 29, to: stores.count, by: 30)))
    state.status = .paused
    #expect(recorder.note(state, ItemChoices(), now: Date()).count == 1)
    for _ in 0..<10 { #expect(recorder.note(state, ItemChoices(), now: Date()).isEmpty) }
  }

  @Test func `A stopped player keeps the position where it was stopped`() {
    var queue = PlayQueue()
    queue.replace(with: [Media(URL(filePath: "/long-3600"))])
    var state = state(of: "long-3600", in: queue)
    var (recorder, storage) = (MarkRecorder(policy: ResumptionPolicy()), Storage())
    state.position = .seconds(100.5)
    storage.perform(recorder.note(state, ItemChoices(volume: 0.5), now: Date()))
    // A stop resets the position.
    (state.status, state.position, state.duration) = (.idle, .zero, nil)
    storage.perform(recorder.note(state, ItemChoices(), now: Date()))
    #expect(storage.marks.values.first?.position == .seconds(100.5))
    #expect(storage.marks.values.first?.volume == 0.5)
  }
}
