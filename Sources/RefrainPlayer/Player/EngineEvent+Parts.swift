// SPDX-License-Identifier: MIT
import Foundation
import Refrain

extension EngineEvent {
  /// Returns the same event with the positions of an item that is a part of its resource: engines
  /// report those of the resource.
  func within(_ part: Media.Part) -> EngineEvent {
    switch self {
    case .ready(let id, let place): .ready(id, at: part.position(of: place))
    case .position(let id, let place): .position(id, part.position(of: place))
    case .duration(let id, let duration?):
      .duration(id, part.duration(in: duration))
    case .buffered(let id, let ranges): .buffered(id, part.positions(of: ranges))
    case .seekCompleted(let id, let serial, let place):
      .seekCompleted(id, serial: serial, at: part.position(of: place))
    default: self
    }
  }
}

extension PlayerMachine {
  /// Handles an event of an item that is a part of its resource.
  ///
  /// - Returns: the event to handle further; nil: there is nothing more to do.
  mutating func handle(
    _ event: EngineEvent, within part: Media.Part, _ actions: inout [PlayerAction]
  ) -> EngineEvent? {
    // A live stream has no parts: its events stay as they are.
    guard !state.isLive else { return event }
    switch event {
    case .duration(_, let duration?):
      // Often an estimate, and far too short: the part may well lie beyond it.
      state.resourceDuration = duration
    case .ended where !isHeard && mayBeBeyondResource(part):
      failBeyondResource(part, &actions)
      return nil
    case .failed(_, let error)
    where !isHeard && error.code == .invalidResponse && state.resourceDuration != nil
      && mayBeBeyondResource(part):
      failBeyondResource(part, &actions)
      return nil
    case .position(_, let place) where endsParts && seeking == nil:
      guard let end = part.end, place >= end else { break }
      self.end(followedBy: nil, &actions)
      return nil
    default: break
    }
    return event.within(part)
  }

  /// Whether a part begins beyond the end of its resource, as far as that is known.
  private func mayBeBeyondResource(_ part: Media.Part) -> Bool {
    part.start > .zero && state.resourceDuration.map { part.start >= $0 } ?? true
  }

  private mutating func failBeyondResource(
    _ part: Media.Part, _ actions: inout [PlayerAction]
  ) {
    let url = state.item?.media.url.withoutUserInfo.absoluteString ?? "The resource"
    let length = state.resourceDuration.map { ": it lasts \($0.asTime)" } ?? ""
    let error = MediaCacheError(
      .badRange, "\(url) has no part from \(part.start.asTime) on\(length).",
      remedy: "Check that the list of parts belongs to this file.")
    fail(error, &actions)
  }
}
